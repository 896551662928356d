/** Who the next stage of an OUTPUT envelope is: what config's `stages` say, else an agent, a team or a role of that name. Pure. */
import { CLI_KINDS } from '../core/agent-kinds.ts';
import type { Config, StageConfig } from '../core/config.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Routing } from '../core/task.ts';

/** The stage that is the person. */
export const USER = 'user';

/** What config says of a stage beside who it is. */
export type StageLimits = Pick<StageConfig, 'budget' | 'timeout' | 'write' | 'retries' | 'phases'>;

type Stage =
  | { readonly kind: 'user' }
  | { readonly kind: 'routed'; readonly routing: Partial<Routing>; readonly limits?: StageLimits }
  | { readonly kind: 'unknown'; readonly refusal: Refusal };

/** Follows names that stand for other names; one that leads back to itself is refused with its way. */
export function stageOf(config: Config, stage: string): Stage {
  const way: string[] = [];
  for (let name = stage; ; ) {
    if (name === USER) return { kind: 'user' };
    if (way.includes(name)) {
      return unknown(
        'E_CYCLE',
        `stages in config.yaml stand for each other in a circle: ${[...way, name].join(' → ')}`,
      );
    }
    way.push(name);
    const said = Object.hasOwn(config.stages, name) ? config.stages[name] : undefined;
    if (said === undefined) return byName(config, stage, name);
    if (typeof said !== 'string') {
      const { agent = null, role = null, team = null, ...limits } = said;
      if (agent !== null || role !== null || team !== null)
        return { kind: 'routed', routing: { agent, role, team }, limits };
      return unknown('E_AGENT_NOT_FOUND', `the stage ${name} in config.yaml names no agent, role or team`);
    }
    // A name that stands for itself is an agent, a team or a role of that name.
    if (said === name) return byName(config, stage, name);
    name = said;
  }
}

const unknown = (code: Refusal['code'], message: string, hint: string | null = null): Stage => ({
  kind: 'unknown',
  refusal: { code, message, hint },
});

/** Names are compared as those of agents are, in any case. */
const find = (known: readonly string[], name: string): string | undefined =>
  known.find((other) => other === name) ?? known.find((other) => other.toLowerCase() === name.toLowerCase());

function byName(config: Config, stage: string, name: string): Stage {
  const agents = Object.keys(config.agents);
  const agent = find(agents, name);
  if (agent !== undefined) return { kind: 'routed', routing: { agent } };
  const team = find(Object.keys(config.teams), name);
  if (team !== undefined) return { kind: 'routed', routing: { team } };
  const role = find([...new Set(Object.values(config.agents).flatMap(({ roles }) => roles))], name);
  if (role !== undefined) return { kind: 'routed', routing: { role } };
  // These need no entry in config.
  const program = CLI_KINDS.find((kind) => kind === name);
  if (program !== undefined) return { kind: 'routed', routing: { agent: program } };
  const stages = Object.keys(config.stages);
  const known = [
    `stages ${stages.length === 0 ? '(none)' : stages.join(', ')}`,
    `agents ${agents.length === 0 ? '(none)' : agents.join(', ')}`,
  ].join('; ');
  const what = stage === name ? `the stage ${stage}` : `the stage ${stage}, which stands for ${name},`;
  return unknown(
    'E_AGENT_NOT_FOUND',
    `expected ${what} to be a stage, agent, team or role of config.yaml, or user, and it is none; known are ${known}`,
    `say who it is in config.yaml: stages: { ${stage}: { agent: NAME } }`,
  );
}
