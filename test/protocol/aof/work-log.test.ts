import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appendWorkLog } from '../../../src/protocol/aof/index.ts';
import { anyText } from './samples.ts';

describe('a line in the work log', () => {
  it('makes the section at the end where there is none', () => {
    expect(appendWorkLog('', 'began')).toBe('## Work Log\n\n- began\n');
    expect(appendWorkLog('# Fix it', 'began')).toBe('# Fix it\n\n## Work Log\n\n- began\n');
    expect(appendWorkLog('# Fix it\n\n', 'began')).toBe('# Fix it\n\n## Work Log\n\n- began\n');
  });

  it('comes after the lines that are there, and what follows the section stays', () => {
    const body = '# T\n\n## Work Log\n\n- one\n\n### detail\n\n\n## Notes\n\nkept  \n';
    expect(appendWorkLog(body, 'two')).toBe(
      '# T\n\n## Work Log\n\n- one\n\n### detail\n- two\n\n\n## Notes\n\nkept  \n',
    );
  });

  it('fits into an empty section, at the end and before another', () => {
    expect(appendWorkLog('## Work Log', 'a')).toBe('## Work Log\n\n- a\n');
    expect(appendWorkLog('## Work Log\n\n# Next', 'a')).toBe('## Work Log\n\n- a\n\n# Next');
    expect(appendWorkLog('## Work Log\n\n- a', 'b')).toBe('## Work Log\n\n- a\n- b\n');
  });

  it('finds the section as a person would write it', () => {
    expect(appendWorkLog('## work log ##\n- a\n', 'b')).toBe('## work log ##\n- a\n- b\n');
  });

  it('keeps the line endings of the body', () => {
    expect(appendWorkLog('# T\r\n', 'a')).toBe('# T\r\n\r\n## Work Log\r\n\r\n- a\r\n');
    expect(appendWorkLog('## Work Log\r\n\r\n- a\r\n', 'b')).toBe('## Work Log\r\n\r\n- a\r\n- b\r\n');
  });

  it.each(['```', '~~~', '````md', '   ```'])('is not fooled by a heading inside a fence that starts %s', (open) => {
    const close = open.trim().replace('md', '');
    const body = `${open}\n## Work Log\n${close}\n`;
    expect(appendWorkLog(body, 'a')).toBe(`${body}\n## Work Log\n\n- a\n`);
  });

  it('is not fooled by inline code, a shorter fence, or a heading of code or of another level', () => {
    expect(appendWorkLog('```not a fence```\n## Work Log\n', 'a')).toBe('```not a fence```\n## Work Log\n\n- a\n');
    const nested = '````\n```\n## Work Log\n````\n';
    expect(appendWorkLog(nested, 'a')).toBe(`${nested}\n## Work Log\n\n- a\n`);
    const code = '    ## Work Log\n### Work Log\n## Work Logs\n';
    expect(appendWorkLog(code, 'a')).toBe(`${code}\n## Work Log\n\n- a\n`);
  });

  it('does not end the section at a heading inside a fence', () => {
    const body = '## Work Log\n\n```\n# not a heading\n```\n\n## Next\n';
    expect(appendWorkLog(body, 'a')).toBe('## Work Log\n\n```\n# not a heading\n```\n- a\n\n## Next\n');
  });

  it('closes a fence that was left open, so that the section is one', () => {
    const once = appendWorkLog('~~~~ts\ncode', 'a');
    expect(once).toBe('~~~~ts\ncode\n~~~~\n\n## Work Log\n\n- a\n');
    expect(appendWorkLog(once, 'b')).toBe(`${once}- b\n`);
  });

  it('is one line whatever it says, and nothing where it says nothing', () => {
    expect(appendWorkLog('', '50%\r\n## Work Log\n```\x1b[31m')).toBe('## Work Log\n\n- 50% ## Work Log ```\n');
    expect(appendWorkLog('', '- already an item')).toBe('## Work Log\n\n- already an item\n');
    expect(appendWorkLog('x', ' \n')).toBe('x');
  });
});

describe('whatever the body', () => {
  const piece = fc.constantFrom(
    '## Work Log',
    '# A',
    '## B',
    '```',
    '~~~',
    '',
    'text',
    '- item',
    '    code',
    '```js',
    '````',
    '\r',
  );
  const body = fc.oneof(
    fc.array(piece).map((lines) => lines.join('\n')),
    fc.array(anyText).map((lines) => lines.join('\n')),
  );
  const line = fc.oneof(anyText, piece).filter((text) => /\w/.test(text.replace(/\x1b.*/gs, '')));

  it('a second line goes right below the first, and never into a second section', () => {
    fc.assert(
      fc.property(body, line, (before, said) => {
        const once = appendWorkLog(before, said);
        const twice = appendWorkLog(once, 'SECOND LINE');
        const at = twice.search(/- SECOND LINE\r?\n/);
        expect(twice.length - once.length).toBeLessThanOrEqual('- SECOND LINE\r\n'.length);
        expect(twice.slice(0, at) + twice.slice(at).replace(/^- SECOND LINE\r?\n/, '')).toBe(once);
      }),
      { numRuns: 1000 },
    );
  });

  it('all of it is still there, in order', () => {
    fc.assert(
      fc.property(body, line, (before, said) => {
        const lines = appendWorkLog(before, said).split('\n');
        let at = 0;
        for (const kept of before.split('\n')) {
          while (at < lines.length && lines[at]?.replace(/\r$/, '') !== kept.replace(/\r$/, '')) at++;
          expect(at, `lost ${JSON.stringify(kept)}`).toBeLessThan(lines.length);
          at++;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
