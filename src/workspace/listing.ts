/** What a snapshot knows of a path: every file, folder and link at and below it, with enough to tell whether it is still the same. */
import * as z from 'zod';
import { at, type Bytes, eachOf, hashFile, targetOf, walkTree } from './tree.ts';

/** A name as bytes (see `tree.ts`); empty for the path itself. */
const below = z.string();
const common = { below, mode: z.int(), mtimeMs: z.number() };

export const Entry = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('file'),
    ...common,
    hash: z.string(),
    size: z.int(),
    /** Its object in git, where that keeps it. */
    blob: z.string().nullable(),
  }),
  z.strictObject({ kind: z.literal('folder'), ...common }),
  z.strictObject({ kind: z.literal('link'), below, target: z.string() }),
]);
export type Entry = z.infer<typeof Entry>;
export type FileEntry = Extract<Entry, { kind: 'file' }>;

/** What is there, folders before what is in them; nothing where there is nothing. Throws where something of it can't be read. */
export async function listAt(path: Bytes, except: readonly Bytes[]): Promise<Entry[]> {
  const { found, unreadable } = await walkTree(path, except);
  if (unreadable[0] !== undefined) throw new Error(`the folder ${at(path, unreadable[0])} may not be read`);
  const files = new Map<Bytes, Awaited<ReturnType<typeof hashFile>>>();
  await eachOf(found, 16, async ({ below, kind }) => {
    if (kind === 'file') files.set(below, await hashFile(at(path, below)));
  });
  const entries: Entry[] = [];
  for (const { below, kind, stat } of found) {
    const own = { below, mode: Number(stat.mode & 0o7777n), mtimeMs: Number(stat.mtimeNs / 1000n) / 1000 };
    if (kind === 'folder') entries.push({ kind, ...own });
    else if (kind === 'link') entries.push({ kind, below, target: await targetOf(at(path, below)) });
    else if (kind === 'file') {
      const file = files.get(below) ?? null;
      if (file !== null) entries.push({ kind, ...own, ...file, blob: null });
    } else if (below === '') {
      throw new Error(`${path} is neither a file nor a folder nor a symlink`);
    }
    // Pipes and sockets inside a folder hold nothing that could be kept.
  }
  return entries;
}
