// The rows of docs/performance.md: each part of the bench has its place there, and is replaced when it is measured again.
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../docs/performance.md', import.meta.url);

const cells = (...texts) => `| ${texts.join(' | ')} |`;

export function writeTable(part, rows) {
  const text = readFileSync(FILE, 'utf8');
  const start = `<!-- bench: ${part} -->`;
  const end = '<!-- end -->';
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`docs/performance.md has no place for the part ${part}: ${start} … ${end}`);
  const lines = rows.map(({ name, ratio, wanted, met, detail }) =>
    cells(name, ratio.toFixed(2), wanted, met === null ? '' : met ? 'yes' : '**no**', detail),
  );
  const table = [
    cells('figure', 'value', 'goal', 'met', 'measured / floor'),
    cells('---', '--:', '---', '---', '---'),
    ...lines,
  ];
  const day = new Date().toISOString().slice(0, 10);
  const body = `${start}\n\n\`npm run bench -- ${part}\`, measured ${day}:\n\n${table.join('\n')}\n\n`;
  writeFileSync(FILE, `${text.slice(0, from)}${body}${text.slice(to)}`);
}
