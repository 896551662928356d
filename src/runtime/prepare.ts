/** All that has to be known and right before a run changes anything. Throws with the code of what is wrong. */
import { resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import type { Budget, Policy } from '../core/policy.ts';
import { type Estimate, estimate, type Price, priceOf } from '../core/price.ts';
import type { Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import type { GitInfo } from '../workspace/git.ts';
import { preflight, type Ready } from '../workspace/preflight.ts';
import { type RunAccess, runAccess } from './access/run-access.ts';
import { type Chosen, checkProgram, chooseAgent } from './agents.ts';
import type { Host } from './host.ts';
import { type SessionLimit, sessionLimit } from './purse.ts';
import { sandboxHere } from './surroundings.ts';

export interface Prepared {
  readonly message: TaskMessage;
  readonly policy: Policy;
  readonly chosen: Chosen;
  readonly ready: Ready;
  readonly access: RunAccess;
  readonly budget: Budget;
  /** Of its session, for all of its tasks; null where config has none. */
  readonly limit: SessionLimit | null;
  readonly price: Price | null;
  /** Null where no price is known. */
  readonly estimate: Estimate | null;
}

type Candidate = Pick<Task, 'routing' | 'fallback' | 'cost' | 'session'> & Partial<Pick<Task, 'run'>>;

/** @param git the repository there, where Baton must not find it by the folder: that may be an agent's */
export async function prepare(host: Host, task: Candidate, message: TaskMessage, git?: GitInfo): Promise<Prepared> {
  const { config, environment } = host;
  const chosen = chooseAgent({ config, environment, task, message, claimed: task.run?.agent });
  const policy = policyOf(message);
  const workspace = resolve(host.workspace, message.task.environment.workspace_root);
  const { access } = policy;
  const ready = await preflight({ message, workspace, access, hasTerminal: false, dataDir: host.dir, git });
  checkProgram(chosen, ready.workspace, environment['PATH']);
  const here = await sandboxHere(config, chosen.adapter);
  const price = chosen.model === null ? null : priceOf(config.prices, chosen.model);
  return {
    message,
    policy,
    chosen,
    ready,
    access: runAccess(ready, policy.access.network, here),
    budget: policy.budget,
    limit: await limitOf(host, task),
    price,
    estimate:
      price === null
        ? null
        : estimate(
            { promptTokens: host.countTokens(message.task.objective), complexity: message.task.complexity },
            price,
          ),
  };
}

/** What is left of the session's limit; refused where that is nothing. */
async function limitOf({ config, store, purses }: Host, { session }: Candidate): Promise<SessionLimit | null> {
  const most = config.limits.max_cost_usd;
  if (most === null) return null;
  const limit = await sessionLimit(store, purses, session, most);
  if (limit.spent < most) return limit;
  throw new BatonError(
    'E_COST_LIMIT_EXCEEDED',
    `expected at most ${most} dollars for the session ${session}, and ${limit.spent} are spent`,
    'limits.max_cost_usd in config.yaml sets the limit',
  );
}
