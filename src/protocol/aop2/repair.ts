/**
 * A TASK that does not fit its schema, made one that does (contract §1.3): what is wrong is taken out, what is missing and has a default is filled
 * in, and all else stays as it was, its expected outputs, checkpoints and limits among it. What was taken out is named in `lost`.
 */
import { type Fields, isFields } from '../../core/fields.ts';
import type { Problem } from '../../core/problem.ts';
import { decodeAop2 } from './decode.ts';
import { type Fallback, fallBack } from './fallback.ts';
import type { TaskMessage } from './schema.ts';
import { AOP_VERSION, PROTOCOL_FAMILY, SCHEMA_VERSION } from './version.ts';

/** Under this key of a repaired TASK's extensions stands what was wrong with it. */
export const FALLBACK_KEY = 'x_version_fallback';

interface Surroundings {
  readonly now: string;
  /** The session of a TASK that names none. */
  readonly session: string;
  /** The folder of a TASK that names none. */
  readonly workspace: string;
}

interface Repaired {
  readonly message: TaskMessage;
  readonly fallback: Fallback;
}

/** What limits a run. Where one of these cannot be read the TASK is refused: it would run with less than was asked for. */
const LIMITS = [
  '/task/access',
  '/task/constraints',
  '/task/budgets',
  '/execution_policy',
  '/guard_rails',
  '/target/capabilities',
];

/** More than this is not a TASK with a mistake in it. */
const MOST_REPAIRS = 100;

/** Null where it is too large, says nothing to do, or where its limits cannot be read. */
export function repairTask(value: unknown, problems: readonly Problem[], around: Surroundings): Repaired | null {
  if (!isFields(value) || problems.some(({ code }) => code === 'E_CONTEXT_OVERFLOW')) return null;
  const objective = isFields(value['task']) ? value['task']['objective'] : null;
  if (typeof objective !== 'string' || objective.trim() === '') return null;
  const fallback = fallBack(value, problems, JSON.stringify(value), around.now);
  const message = structuredClone(value);
  const lost: string[] = [];
  for (let i = 0; i < MOST_REPAIRS; i++) {
    const wrong = decodeAop2(message, JSON.stringify(message)).problems.findLast(
      ({ severity }) => severity === 'error',
    );
    if (wrong === undefined) return finished(message, { ...fallback, lost });
    if (LIMITS.some((limit) => wrong.path === limit || wrong.path.startsWith(`${limit}/`))) return null;
    if (!repair(message, wrong.path, defaultsOf(around), lost)) return null;
  }
  return null;
}

/** The prompt of the contract is its objective. A TASK that was lifted so has the origin that the contract gives it. */
function finished(message: Fields, fallback: Fallback): Repaired {
  const { task, session } = message as unknown as TaskMessage;
  const extensions = { ...task.extensions, [FALLBACK_KEY]: { ...fallback.event, lost: fallback.lost } };
  return {
    message: {
      ...(message as unknown as TaskMessage),
      session: { ...session, origin: 'V1_COMPAT' },
      task: { ...task, objective: fallback.prompt, extensions },
    },
    fallback,
  };
}

const defaultsOf = ({ now, session, workspace }: Surroundings): Fields => ({
  aop_version: AOP_VERSION,
  schema_version: SCHEMA_VERSION,
  protocol_family: PROTOCOL_FAMILY,
  message_type: 'TASK',
  session: { session_id: session, created_at: now, orchestrator: 'baton', origin: 'V1_COMPAT' },
  target: { agent_name: 'default', role: 'EXECUTOR', provider: 'OTHER', model: 'default' },
  task: {
    task_id: 'TASK-001',
    category: 'OTHER',
    complexity: 'MEDIUM',
    environment: { workspace_root: workspace },
  },
});

const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

const at = (value: unknown, keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (found, key) =>
      Array.isArray(found) ? found[Number(key)] : isFields(found) && Object.hasOwn(found, key) ? found[key] : undefined,
    value,
  );

/** Fills in the default at a place, else takes out what is there, else what it is in. False where nothing helps. */
function repair(message: Fields, pointer: string, defaults: Fields, lost: string[]): boolean {
  const keys = keysOf(pointer);
  if (keys.length === 0) return false;
  const [last, holder] = [keys.at(-1) as string, at(message, keys.slice(0, -1))];
  const came = at(message, keys);
  const given = at(defaults, keys);
  if (given !== undefined && isFields(holder) && JSON.stringify(came) !== JSON.stringify(given)) {
    if (came !== undefined) lost.push(pointer);
    holder[last] = structuredClone(given);
    return true;
  }
  if (came === undefined) return repair(message, pointer.slice(0, pointer.lastIndexOf('/')), {}, lost);
  // What everything else is in cannot be taken out.
  if (keys.length === 1 && ['session', 'target', 'task'].includes(last)) return false;
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else if (isFields(holder)) delete holder[last];
  lost.push(pointer);
  return true;
}
