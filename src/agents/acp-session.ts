/** What an ACP agent tells of a session that it opened, and of a turn that it ended: modes, models, tokens. Agents differ; each form here is one that was seen. */

import { at, countOf, type Json, listOf, objectOf, textOf } from './json.ts';

/** A request that sets something; the session's id is added by the caller. */
export interface Settable {
  readonly method: string;
  readonly params: Json;
  readonly value: string;
}

/** Modes in which an agent asks before it acts, as the agents call them; the first that is offered is taken. */
const ASKING = ['default', 'read-only', 'ask'];

const objectsOf = (value: unknown): readonly Json[] => listOf(value).map((each) => objectOf(each) ?? {});

/** How to put the session into a mode that asks; null where it is in one, or has none that is known. */
export function pickAsking(session: Json): Settable | null {
  const modes = objectOf(session['modes']) ?? {};
  const option = optionOf(session, 'mode');
  const current = textOf(modes['currentModeId']) ?? textOf(option?.['currentValue']);
  if (current !== null && ASKING.includes(current)) return null;
  const offered = objectsOf(modes['availableModes']).map(({ id }) => id);
  const modeId = ASKING.find((mode) => offered.includes(mode));
  if (modeId !== undefined) return { method: 'session/set_mode', params: { modeId }, value: modeId };
  const value = option === null ? undefined : ASKING.find((mode) => valuesOf(option).includes(mode));
  return value === undefined || option === null ? null : setOption(option, value);
}

interface Models {
  readonly current: string | null;
  readonly change: Settable | null;
  /** Names that it would take. */
  readonly offered: readonly string[];
}

/**
 * The model that the session has, and how to give it the wanted one. An agent that offers models is asked for it even where its list has
 * no such name (lists hold short names), and its refusal counts; one that offers none has the model it has.
 */
export function pickModel(session: Json, wanted: string | null): Models {
  const option = optionOf(session, 'model');
  const older = objectOf(session['models']) ?? {};
  const current = textOf(option?.['currentValue']) ?? textOf(older['currentModelId']);
  const listed = objectsOf(older['availableModels']).map(({ modelId }) => modelId);
  const values = option === null ? [] : valuesOf(option);
  const offered = [...new Set([...values, ...listed])].filter((name) => typeof name === 'string');
  const models = (change: Settable | null): Models => ({ current, change, offered });
  if (wanted === null || wanted === current) return models(null);
  // Where both are offered, the one whose list has the name.
  if (option !== null && (listed.length === 0 || values.includes(wanted))) return models(setOption(option, wanted));
  if (listed.length === 0) return models(null);
  return models({ method: 'session/set_model', params: { modelId: wanted }, value: wanted });
}

const setOption = (option: Json, value: string): Settable => ({
  method: 'session/set_config_option',
  params: { configId: option['id'], value },
  value,
});

const optionOf = (session: Json, category: string): Json | null =>
  objectsOf(session['configOptions']).find((option) => option['category'] === category) ?? null;

/** Options may stand in groups. */
const valuesOf = (option: Json): readonly unknown[] =>
  objectsOf(option['options']).flatMap((each) => [
    each['value'],
    ...objectsOf(each['options']).map(({ value }) => value),
  ]);

interface Counts {
  readonly tokens: { readonly tokensInput: number; readonly tokensOutput: number } | null;
  readonly model: string | null;
}

/** What the answer to a prompt says was used. Cached tokens are read too: where a total is given, input is what is not output. */
export function countsOf(result: Json): Counts {
  const quota = at(result, '_meta', 'quota');
  const model = textOf(at(objectsOf(at(quota, 'model_usage'))[0], 'model'));
  const usage = { ...objectOf(at(quota, 'token_count')), ...objectOf(result['usage']) };
  const count = (...names: readonly string[]): number | null =>
    names.map((name) => countOf(usage[name])).find((value) => value !== null) ?? null;
  const input = count('inputTokens', 'input_tokens');
  const output = count('outputTokens', 'output_tokens');
  if (input === null || output === null) return { tokens: null, model };
  const total = count('totalTokens', 'total_tokens') ?? 0;
  return { tokens: { tokensInput: Math.max(input, total - output), tokensOutput: output }, model };
}
