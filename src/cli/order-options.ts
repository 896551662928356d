/** The options of `baton run`, `baton task add` and `baton task edit`: the same words for the same things. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { CLI_KINDS } from '../core/agent-kinds.ts';
import { BatonError } from '../core/errors.ts';
import type { TaskPriority } from '../core/task.ts';
import type { Order } from '../runtime/tasks/order.ts';
import { notEmpty, positive, priorityOption, repeated, wholeOrNone } from './options.ts';

export interface OrderOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly budget?: number;
  readonly timeout?: number;
  readonly retries?: number;
  readonly write: readonly string[];
  readonly read: readonly string[];
  readonly check: readonly string[];
  readonly expect: readonly string[];
  readonly dependsOn: readonly string[];
  readonly priority?: TaskPriority;
  readonly review?: boolean;
  readonly worktree?: boolean;
  readonly shared?: boolean;
  /** False with --no-merge. */
  readonly merge: boolean;
}

export const addOrderOptions = (command: Command): Command =>
  command
    .option('--agent <name>', `who does it: an agent of config.yaml, or ${CLI_KINDS.join(', ')}`, notEmpty)
    .option('--model <model>', 'the model, whatever the TASK says', notEmpty)
    .option('--budget <usd>', 'dollars it may cost, all attempts together', positive)
    .option('--timeout <seconds>', 'seconds an attempt may take', positive)
    .option('--retries <n>', 'attempts after the first', wholeOrNone)
    .addOption(repeated('--write <path>', 'a path it may write; nothing else of the workspace then'))
    .addOption(repeated('--read <path>', 'a path it may read; nothing else then'))
    .addOption(repeated('--check <cmd>', 'a command, or NAME=command, that has to exit with 0 before it is done'))
    .addOption(repeated('--expect <path>', 'a file that has to be there, and not empty, before it is done'))
    .addOption(repeated('--depends-on <id>', 'a task that has to be done before it'))
    .addOption(priorityOption())
    .option('--review', 'a person has to look at it before it is done')
    .addOption(new Option('--worktree', 'in a git worktree of its own').conflicts('shared'))
    .addOption(new Option('--shared', 'in the checkout, beside other tasks that write other paths'))
    .option('--no-merge', 'leave its work on the branch baton/<task>');

const NONE = 'none';

/** In `task edit` the word `none` empties a list. */
function listOf(option: string, said: readonly string[], isEdit: boolean): readonly string[] | undefined {
  if (said.length === 0) return undefined;
  if (!isEdit || !said.includes(NONE)) return said;
  if (said.length === 1) return [];
  throw new BatonError('E_USAGE', `expected ${option} none alone, got other values beside it`);
}

/** @param root what relative paths to read and write start from */
export function orderOf(options: OrderOptions, root: string, isEdit = false): Order {
  const { agent, model, budget, timeout, retries, worktree, shared, merge } = options;
  const below = (paths: readonly string[] | undefined): string[] | undefined =>
    paths?.map((path) => resolve(root, path));
  const [write, read] = [
    below(listOf('--write', options.write, isEdit)),
    below(listOf('--read', options.read, isEdit)),
  ];
  const [check, expect] = [listOf('--check', options.check, isEdit), listOf('--expect', options.expect, isEdit)];
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(retries === undefined ? {} : { retries }),
    ...(write === undefined ? {} : { write }),
    ...(read === undefined ? {} : { read }),
    ...(check === undefined ? {} : { check }),
    ...(expect === undefined ? {} : { expect }),
    ...(worktree === true
      ? { isolation: 'worktree' as const }
      : shared === true
        ? { isolation: 'shared' as const }
        : {}),
    ...(merge ? {} : { merge: false as const }),
  };
}

/** What `task edit` is to depend on; undefined where nothing was said. */
export const dependenciesOf = ({ dependsOn }: OrderOptions): readonly string[] | undefined =>
  listOf('--depends-on', dependsOn, true);
