/**
 * Reads a bundle into a repository with every object checked, broken ones and missing links refused. Git's own fetch from a bundle checks
 * objects only since 2.46.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { BatonError } from '../core/errors.ts';
import { git, startGit } from './git.ts';

/** Longer than the header of any bundle that Baton makes. */
const MOST_HEADER = 64 * 1024;
/** A pack with fewer objects becomes loose objects, as with `git fetch`: a repository would else fill with small packs. */
const FEW = 100;

/** Reads a bundle of one commit. Throws where its objects are not whole. */
export async function unbundle(root: string, bundle: string, commit: string): Promise<void> {
  const { start, count } = await packIn(bundle);
  const few = ['unpack-objects', '-q', '--strict'];
  const program = await startGit(root, count < FEW ? few : ['index-pack', '--stdin', '--fix-thin', '--strict'], 'open');
  try {
    const said: Buffer[] = [];
    program.stdout.resume();
    program.stderr.on('data', (piece: Buffer) => said.length < 16 && said.push(piece));
    // A git that refuses the pack does not read it to its end; its exit says why.
    const fed = program.stdin === null ? null : pipeline(createReadStream(bundle, { start }), program.stdin);
    await fed?.catch(() => {});
    const { code } = await program.exited;
    if (code !== 0) throw broken(Buffer.concat(said).toString('utf8').trim());
  } finally {
    await program.end(1000);
  }
  const whole = await git(root, ['rev-list', '--objects', '--quiet', commit, '--not', '--all']);
  if (whole.code !== 0) throw broken(whole.stderr);
}

const broken = (why: string): BatonError =>
  new BatonError('E_EVIDENCE', `git does not take the objects of the work: ${why}`);

/** Where the pack begins in a bundle, and how many objects it holds. */
async function packIn(bundle: string): Promise<{ readonly start: number; readonly count: number }> {
  const file = await open(bundle);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_HEADER), 0, MOST_HEADER, 0);
    const start = buffer.subarray(0, bytesRead).indexOf('\n\nPACK') + 2;
    if (start < 2) throw broken(`${bundle} holds no pack`);
    return { start, count: buffer.readUInt32BE(start + 8) };
  } finally {
    await file.close();
  }
}
