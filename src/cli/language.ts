/** The session language as the commands of this program have it: the one interpreter over the store, and who can be asked beyond it. */
import { realpathSync } from 'node:fs';
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Store } from '../core/store.ts';
import { newSuffix } from '../process/new-id.ts';
import { RUNTIME } from '../runtime/actor.ts';
import type { DoLine } from '../runtime/doors.ts';
import { homeOf } from '../runtime/home-of.ts';
import { countTokens } from './tokens.ts';

interface LanguageParts {
  readonly store: Store;
  readonly dir: string;
  readonly config: Config;
  warn(text: string): void;
  /** Ends an agent that is asked. */
  readonly leaving: AbortSignal;
  /** Whether how an agent goes that is asked is left unshown. */
  readonly isQuiet?: boolean;
}

/** The tasks of agents that are asked belong to a session of their own: they are no work of anybody's. */
const SESSION = 'language';

/** Loaded at the first line: most commands never hear one. */
export function doLineFor(parts: LanguageParts): DoLine {
  let loaded: Promise<DoLine> | null = null;
  return async (ask, sender, signal) => {
    loaded ??= load(parts);
    return (await loaded)(ask, sender, signal);
  };
}

async function load({ store, dir: named, config, warn, leaving, isQuiet = false }: LanguageParts): Promise<DoLine> {
  const [{ createInterpreter }, { createBeyond }, { createDoLine }] = await Promise.all([
    import('../session/interpreter.ts'),
    import('../session/beyond.ts'),
    import('../session/lines.ts'),
  ]);
  const dir = realpathSync(named);
  const askAgent = async (agent: string, prompt: string, signal?: AbortSignal): Promise<string> => {
    const { answerBy } = await import('./ask-agent.ts');
    const answer = await answerBy({
      store,
      dir,
      config,
      agent,
      session: SESSION,
      workspace: homeOf(dir),
      id: `ask-${newSuffix(6)}`,
      objective: prompt,
      leaving: signal === undefined ? leaving : AbortSignal.any([leaving, signal]),
      by: RUNTIME,
      isQuiet,
    });
    if ('text' in answer) return answer.text;
    throw new BatonError('E_UNKNOWN', answer.why);
  };
  const parts = { store, config, dir, workspace: homeOf(dir), now: Date.now, countTokens, warn, askAgent };
  return createDoLine(createInterpreter({ ...parts, unsure: createBeyond(parts) }), parts);
}
