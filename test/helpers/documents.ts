/** The complete examples of the five documents. */
import { readFileSync } from 'node:fs';

export const example = (name: string): string =>
  readFileSync(new URL(`../fixtures/documents/${name}`, import.meta.url), 'utf8');

export const exampleJson = (name: string): Record<string, unknown> =>
  JSON.parse(example(name)) as Record<string, unknown>;
