/** The files that a run speaks of or was to make, as Baton finds them. */
import { BatonError } from '../../core/errors.ts';
import type { Artifact, Report } from '../../core/report.ts';
import { isBelow } from '../../process/files.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { compare, type Look, lookAt } from '../../workspace/artifacts.ts';
import { resolveIn } from '../../workspace/paths.ts';
import type { Claim } from './claim.ts';

export type Seen = Awaited<ReturnType<typeof lookAt>>;

/** Where files are looked for. */
export interface Places {
  readonly workspace: string;
  /** What is left out where a folder is looked at. */
  readonly apart: readonly string[];
  /** Where the agent may have made something; what it claims of other places is not looked at. */
  readonly roots: readonly string[];
  /** Whether this run, or an earlier one of its task, changed the file; null where that is not known. */
  readonly isOurs: (real: string) => boolean | null;
}

const NOTHING_THERE: Look = { hash: null, sizeBytes: 0, exists: false, isFolder: false, isLink: false };

/** The paths to look at before a run, so that it can be told afterwards what became of them. */
export async function lookBefore(message: TaskMessage, workspace: string): Promise<Seen> {
  const paths: string[] = [];
  for (const { path } of message.task.expected_outputs ?? []) paths.push(await resolveIn(workspace, path));
  return lookAt(paths);
}

interface Claimed {
  readonly real: string;
  readonly look: Look;
}

/** What is at a path that an agent speaks of. Null where it is none of ours to look at; a path that leads nowhere has nothing. */
async function lookAtClaimed({ workspace, roots, apart }: Places, path: string): Promise<Claimed | null> {
  let real: string;
  try {
    real = await resolveIn(workspace, path);
  } catch (cause) {
    // No path at all, or a circle of links: nothing can be shown to be there.
    if (cause instanceof BatonError) return { real: path, look: NOTHING_THERE };
    throw cause;
  }
  if (!isBelow(real, roots)) return null;
  return { real, look: (await lookAt([real], apart)).get(real) ?? NOTHING_THERE };
}

/** Baton does not look there, and the task was not to make anything there. */
export const OUTSIDE = 'it is outside of where the task may write';

/** Every claimed artifact against the file: that it is there, its hash, its size. Only a false claim contradicts. */
export async function weighArtifacts(places: Places, { artifacts }: Report): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const artifact of artifacts) {
    const found = await lookAtClaimed(places, artifact.path);
    const what = `artifact ${artifact.path}`;
    if (found === null) claims.push({ what, verdict: 'unverified', detail: OUTSIDE });
    else claims.push({ what, ...weighArtifact(artifact, found.look, places.isOurs(found.real)) });
  }
  return claims;
}

const NOT_OURS = 'it is as the agent says, and no run of this task made it so';

function weighArtifact(artifact: Artifact, seen: Look, isOurs: boolean | null): Omit<Claim, 'what'> {
  const { path, hash, status, sizeBytes } = artifact;
  const wrong = (detail: string): Omit<Claim, 'what'> => ({ verdict: 'contradicted', detail });
  const right = (detail: string): Omit<Claim, 'what'> =>
    isOurs === false ? { verdict: 'unverified', detail: NOT_OURS } : { verdict: 'proven', detail };
  if (status === 'DELETED')
    return seen.exists ? wrong(`${path} is said to be deleted, and it is there`) : right('not there any more');
  if (!seen.exists) return wrong(`${path} is said to be made, and it is not there`);
  if (sizeBytes !== null && seen.hash !== null && sizeBytes !== seen.sizeBytes)
    return wrong(`${path} is said to have ${sizeBytes} bytes, and it has ${seen.sizeBytes}`);
  if (hash === null) return right('it is there');
  if (!/^(?:sha256:)?[^:]*$/i.test(hash)) return { verdict: 'unverified', detail: `a hash of another kind: ${hash}` };
  return `sha256:${hash.replace(/^sha256:/i, '').toLowerCase()}` === seen.hash
    ? right(seen.hash)
    : wrong(`${path} is said to have the hash ${hash}, and it has ${seen.hash ?? 'none'}`);
}

/** What the run made of the outputs that were expected, and of those it speaks of, with our own hashes. */
export async function artifactsOf(
  places: Places,
  message: TaskMessage,
  report: Report,
  before: Seen,
): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  const tell = (path: string, type: string | null, status: Artifact['status'], seen: Look | undefined): void => {
    if (!seen?.exists && status !== 'DELETED') return;
    artifacts.push({ path, type, hash: seen?.hash ?? null, status, sizeBytes: seen?.exists ? seen.sizeBytes : null });
  };
  const known = new Set<string>();
  for (const { path, type = null } of message.task.expected_outputs ?? []) {
    const real = await resolveIn(places.workspace, path);
    const seen = (await lookAt([real])).get(real);
    known.add(path);
    tell(path, type, compare(before.get(real), seen), seen);
  }
  for (const { path, type, status } of report.artifacts) {
    if (known.has(path)) continue;
    known.add(path);
    const found = await lookAtClaimed(places, path);
    if (found !== null) tell(path, type, status, found.look);
  }
  return artifacts;
}
