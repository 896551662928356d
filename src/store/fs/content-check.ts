/** Whether the long texts that records name are there, and are what they were: each file is named by the hash of what is in it. */
import { hash } from 'node:crypto';
import type { Broken } from '../../core/store.ts';
import { contentPath } from './content.ts';
import type { Disk } from './disk.ts';
import type { Layout } from './layout.ts';
import type { Line, StoredText } from './record.ts';

interface ContentCheck {
  look(record: Line): void;
  found(): { readonly content: readonly Broken[]; readonly texts: number };
}

export function createContentCheck(disk: Disk, layout: Layout): ContentCheck {
  const seen = new Set<string>();
  const content: Broken[] = [];
  return {
    look(record) {
      for (const [name, text] of textsOf(record)) {
        if (typeof text === 'string' || seen.has(text.sha256)) continue;
        seen.add(text.sha256);
        const reason = wrongWith(disk, contentPath(layout, text.sha256), text.sha256);
        if (reason === null) continue;
        const where = `content/${text.sha256.slice(0, 2)}/${text.sha256}`;
        content.push({ seq: record.seq, where, reason: `${name} ${reason}` });
      }
    },
    found: () => ({ content, texts: seen.size }),
  };
}

function* textsOf({ changes, graph = [] }: Line): Generator<readonly [name: string, text: StoredText]> {
  for (const { task, texts = {} } of changes) {
    for (const [name, text] of Object.entries(texts)) yield [`the text ${name} of ${task}`, text];
  }
  for (const change of graph) {
    if (change.kind === 'node' && change.document !== null) yield [`the node ${change.node}`, change.document.text];
  }
}

function wrongWith(disk: Disk, path: string, sha256: string): string | null {
  const bytes = disk.read(path);
  if (bytes === null) return 'is missing';
  return hash('sha256', bytes, 'hex') === sha256 ? null : 'is damaged: its file is not what was written';
}
