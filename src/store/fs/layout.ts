/** Where things are in a data folder. */
import { join } from 'node:path';

export interface Layout {
  readonly root: string;
  /** Says what made the folder, and holds the secret that its users share. */
  readonly marker: string;
  readonly ignore: string;
  readonly events: string;
  readonly snapshot: string;
  /** The knowledge graph as of one record; it is read when somebody asks for it. */
  readonly graph: string;
  /** Texts too long for a record, by their hash. */
  readonly content: string;
  /** How far the tree has followed the journal. */
  readonly treeMark: string;
  readonly tmp: string;
}

export const layoutOf = (root: string): Layout => ({
  root,
  marker: join(root, 'baton.json'),
  ignore: join(root, '.gitignore'),
  events: join(root, 'events'),
  snapshot: join(root, 'snapshot.jsonl'),
  graph: join(root, 'graph.jsonl'),
  content: join(root, 'content'),
  treeMark: join(root, 'tree.json'),
  tmp: join(root, 'tmp'),
});

/** Goes up when an older Baton could no longer read what a newer one writes. */
export const FORMAT = 1;
