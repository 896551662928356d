/** The folders of all dialects, by name. What they are gathered for: `detect.ts`, `convert.ts`, `schemas.ts`. */
import { aof } from './aof/dialect.ts';
import { aop1 } from './aop1/dialect.ts';
import { aop2 } from './aop2/dialect.ts';
import { command } from './command/dialect.ts';
import type { DialectParts } from './dialect.ts';
import type { DialectName } from './dialects.ts';
import { output } from './output/dialect.ts';

export const PARTS: { readonly [N in DialectName]: DialectParts<N> } = { aop2, aop1, output, command, aof };
