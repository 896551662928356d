import { detect, type Found } from '../../src/protocol/detect.ts';

/** The one message of a text. */
export function only(text: string): Found {
  const found = detect(text);
  if (found.length !== 1)
    throw new Error(`expected one message, got ${found.map((m) => `${m.dialect} ${m.kind}`).join(', ')}`);
  return found[0] as Found;
}

export const kinds = (text: string): string[] => detect(text).map((m) => `${m.dialect} ${m.kind}`);

export const codes = (found: Found): string[] => found.problems.map((p) => `${p.severity} ${p.code} ${p.path}`);
