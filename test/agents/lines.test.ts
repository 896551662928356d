/** Lines out of bytes, however they come, at a cost that does not grow with their length. */
import { expect, test } from 'vitest';
import { lineSplitter } from '../../src/agents/lines.ts';
import { cpuMs } from '../helpers/cpu.ts';

function linesOf(chunks: Iterable<Uint8Array>, limit?: number): { lines: string[]; dropped: number } {
  const lines: string[] = [];
  let dropped = 0;
  const splitter = lineSplitter({ line: (text) => lines.push(text), dropped: () => dropped++ }, limit);
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, dropped };
}

test('LF and CRLF, empty lines, a last line without its end', () => {
  expect(linesOf([Buffer.from('a\r\n\nb\nc')]).lines).toEqual(['a', '', 'b', 'c']);
  expect(linesOf([Buffer.from('a\n')]).lines).toEqual(['a']);
  expect(linesOf([]).lines).toEqual([]);
});

test('a character that is cut in two is one', () => {
  const bytes = Buffer.from('a€😀\nb\n');
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(linesOf([bytes.subarray(0, cut), bytes.subarray(cut)]).lines).toEqual(['a€😀', 'b']);
  }
});

test('a line at the limit is one, over it none, and the next one is whole', () => {
  expect(linesOf([Buffer.from('12345678\nb\n')], 8)).toEqual({ lines: ['12345678', 'b'], dropped: 0 });
  expect(linesOf([Buffer.from('123456789\nb\n')], 8)).toEqual({ lines: ['b'], dropped: 1 });
  expect(linesOf([Buffer.from('12345'), Buffer.from('6789'), Buffer.from('0'), Buffer.from('\nb')], 8)).toEqual({
    lines: ['b'],
    dropped: 2,
  });
});

test('the chunk it was given may be used again', () => {
  const chunk = Buffer.from('ab');
  const lines: string[] = [];
  const splitter = lineSplitter({ line: (text) => lines.push(text), dropped: () => {} });
  splitter.push(chunk);
  chunk.fill('x');
  splitter.push(Buffer.from('\n'));
  expect(lines).toEqual(['ab']);
});

test('four megabytes, byte by byte, take about as long as in pieces', () => {
  const size = 4 * 1024 * 1024;
  const one = Buffer.from('x');
  const bytes = function* (): Generator<Buffer> {
    for (let i = 0; i < size; i++) yield one;
  };
  const spent = cpuMs(() => expect(linesOf(bytes()).lines.map((line) => line.length)).toEqual([size]));
  // Quadratic, this is hours.
  expect(spent).toBeLessThan(10_000);
});
