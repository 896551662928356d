import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AofEnvelope,
  decodeAof,
  decodeAofValue,
  encodeAof,
  encodeAofObject,
} from '../../../src/protocol/aof/index.ts';
import { anyText, completion, envelope, handoff, inHandoff } from './samples.ts';

describe('an envelope that is written', () => {
  it('is one line of JSON, or text that starts AOF/1, in the order of the document', () => {
    const { payload, ...header } = envelope('completion.report', { outcome: 'done' });
    const shuffled = { payload, x: 1, ...header };
    const line = encodeAof(shuffled as AofEnvelope);
    expect(line).toMatch(/^\{"protocol":"aof","version":1,"type":"completion.report","taskId":/);
    expect(line.endsWith('"payload":{"outcome":"done"},"x":1}')).toBe(true);
    expect(encodeAof(shuffled as AofEnvelope, 'text')).toBe(`AOF/1 ${line}`);
  });

  it('leaves out what is undefined', () => {
    expect(
      encodeAofObject({ ...envelope('completion.report', {}), messageId: undefined } as unknown as AofEnvelope),
    ).not.toHaveProperty('messageId');
  });

  it('is read back as it was, in all three forms', () => {
    const others = fc.dictionary(
      anyText,
      fc.jsonValue().map((v) => JSON.parse(JSON.stringify(v)) as unknown),
    );
    const base = fc.constantFrom(envelope('completion.report', completion), inHandoff(handoff));
    fc.assert(
      fc.property(base, others, anyText, (known, extra, notes) => {
        const payload = { ...extra, ...(known.payload as object), notes };
        const meant = { ...extra, ...known, payload } as unknown as AofEnvelope;
        expect(encodeAof(meant)).not.toMatch(/[\r\n]/);
        for (const read of [
          decodeAof(encodeAof(meant)),
          decodeAof(encodeAof(meant, 'text')),
          decodeAofValue(encodeAofObject(meant)),
        ]) {
          expect(read.valid).toBe(true);
          expect(read.value).toEqual(meant);
        }
      }),
    );
  });
});
