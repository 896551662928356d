/** The folder that a data folder belongs to: the one that `.baton` lies in. */
import { basename, dirname } from 'node:path';

export const homeOf = (dir: string): string => (basename(dir) === '.baton' ? dirname(dir) : process.cwd());
