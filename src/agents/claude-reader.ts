/** What `claude -p --output-format stream-json` prints, as signs. */
import type { ErrorCode } from '../core/errors.ts';
import type { Reader, ReaderContext } from './adapter.ts';
import { cutAnswer, type Failure, failureOf } from './failures.ts';
import { at, countOf, type Json, listOf, objectOf, textOf } from './json.ts';
import { streamReader } from './stream.ts';
import { brief, toolDetail } from './words.ts';

interface Spent {
  readonly tokensInput: number;
  readonly tokensOutput: number;
}

const NOTHING: Spent = { tokensInput: 0, tokensOutput: 0 };

/** Its words for what went wrong, where they say more than an HTTP status. */
const KINDS: Readonly<Record<string, ErrorCode>> = {
  authentication_failed: 'E_CREDENTIALS',
  oauth_org_not_allowed: 'E_CREDENTIALS',
  billing_error: 'E_CREDENTIALS',
  model_not_found: 'E_MODEL_UNAVAILABLE',
};

const inputOf = (usage: unknown): number =>
  (countOf(at(usage, 'input_tokens')) ?? 0) +
  (countOf(at(usage, 'cache_creation_input_tokens')) ?? 0) +
  (countOf(at(usage, 'cache_read_input_tokens')) ?? 0);

/**
 * The last word on a turn. Of its four counts only this one is of the turn and has the sub-agents in it: `usage` leaves them out,
 * `modelUsage` and `total_cost_usd` begin with the conversation.
 */
function sumOfModels(models: Json): Spent & { readonly usd: number } {
  let sum = { tokensInput: 0, tokensOutput: 0, usd: 0 };
  for (const model of Object.values(models)) {
    const count = (key: string): number => countOf(at(model, key)) ?? 0;
    sum = {
      tokensInput:
        sum.tokensInput + count('inputTokens') + count('cacheReadInputTokens') + count('cacheCreationInputTokens'),
      tokensOutput: sum.tokensOutput + count('outputTokens'),
      usd: sum.usd + count('costUSD'),
    };
  }
  return sum;
}

export function claudeReader(context: ReaderContext): Reader {
  return streamReader(context, 'claude', (emit) => {
    /** By message, because a message comes in several lines, each with its count so far. */
    const messages = new Map<string, Spent>();
    let streaming: string | null = null;
    /** On the way, and as the results so far said. */
    let sum = NOTHING;
    let settled = { ...NOTHING, usd: 0 };
    let failureKind: string | null = null;
    const denied = new Set<string>();

    const countMessage = (id: string, input: number | null, output: number): void => {
      const before = messages.get(id) ?? NOTHING;
      const now = {
        tokensInput: input ?? before.tokensInput,
        tokensOutput: Math.max(before.tokensOutput, output),
      };
      messages.set(id, now);
      if (now.tokensInput === before.tokensInput && now.tokensOutput === before.tokensOutput) return;
      sum = {
        tokensInput: sum.tokensInput + now.tokensInput - before.tokensInput,
        tokensOutput: sum.tokensOutput + now.tokensOutput - before.tokensOutput,
      };
      emit({ kind: 'usage', ...sum, usd: null, final: false });
    };

    const block = (item: unknown, isOwn: boolean): void => {
      const type = at(item, 'type');
      const text = textOf(at(item, 'text'));
      if (type === 'text' && isOwn && text !== null) emit({ kind: 'text', text, whole: true });
      else if (type === 'tool_use') {
        const name = textOf(at(item, 'name')) ?? 'tool';
        emit({ kind: 'tool', name: brief(name, 100), detail: toolDetail(objectOf(at(item, 'input'))) });
      }
    };

    const assistant = (event: Json): void => {
      if (event['is_api_error_message'] === true) {
        // Its words come again in the result, as an error.
        failureKind = textOf(event['error']);
        return;
      }
      // What a sub-agent says is no statement of the agent's.
      const isOwn = textOf(event['parent_tool_use_id']) === null;
      for (const item of listOf(at(event, 'message', 'content'))) block(item, isOwn);
      const id = textOf(at(event, 'message', 'id'));
      const usage = at(event, 'message', 'usage');
      if (id !== null) countMessage(id, inputOf(usage), countOf(at(usage, 'output_tokens')) ?? 0);
    };

    /** Pieces of a message: their text comes again whole, their counts come nowhere else before the end. */
    const piece = (event: unknown): void => {
      if (at(event, 'type') === 'message_start') {
        streaming = textOf(at(event, 'message', 'id'));
        if (streaming !== null) countMessage(streaming, inputOf(at(event, 'message', 'usage')), 0);
      } else if (at(event, 'type') === 'message_delta' && streaming !== null) {
        const usage = at(event, 'usage');
        const input = inputOf(usage);
        countMessage(streaming, input > 0 ? input : null, countOf(at(usage, 'output_tokens')) ?? 0);
      }
    };

    const deny = (id: string | null, what: string): void => {
      if (id !== null && denied.has(id)) return;
      if (id !== null) denied.add(id);
      emit({ kind: 'denied', what: brief(what, 300) });
    };

    const system = (event: Json): void => {
      if (event['subtype'] === 'init') {
        const id = textOf(event['session_id']);
        const model = textOf(event['model']);
        if (id !== null) emit({ kind: 'conversation', id });
        if (model !== null) emit({ kind: 'model', model });
      } else if (event['subtype'] === 'api_retry') {
        emit({ kind: 'retrying', status: countOf(event['error_status']), attempt: countOf(event['attempt']) });
      } else if (event['subtype'] === 'permission_denied') {
        const tool = textOf(event['tool_name']) ?? 'a tool';
        deny(textOf(event['tool_use_id']), `${tool}: ${textOf(event['message']) ?? 'refused'}`);
      }
    };

    const failure = (event: Json, said: string): Failure => {
      const status = countOf(event['api_error_status']);
      if (event['api_error'] === 'max_output_tokens' || failureKind === 'max_output_tokens') return cutAnswer(said);
      if (event['subtype'] === 'error_max_budget_usd') {
        return { code: 'E_COST_LIMIT_EXCEEDED', message: `claude stopped at the budget it was given: ${brief(said)}` };
      }
      const known = KINDS[failureKind ?? ''];
      const { code, message } = failureOf(status, said);
      return { code: known ?? code, message };
    };

    const result = (event: Json): void => {
      for (const denial of listOf(event['permission_denials'])) {
        const tool = textOf(at(denial, 'tool_name')) ?? 'a tool';
        deny(textOf(at(denial, 'tool_use_id')), `${tool}: ${toolDetail(objectOf(at(denial, 'tool_input')))}`);
      }
      const models = objectOf(event['model_usage_since_last_result']) ?? objectOf(event['modelUsage']);
      if (models !== null) {
        const { tokensInput, tokensOutput, usd } = sumOfModels(models);
        settled = {
          tokensInput: settled.tokensInput + tokensInput,
          tokensOutput: settled.tokensOutput + tokensOutput,
          usd: settled.usd + usd,
        };
        messages.clear();
        sum = { tokensInput: settled.tokensInput, tokensOutput: settled.tokensOutput };
        emit({ kind: 'usage', ...settled, final: true });
      }
      const said =
        textOf(event['result']) ??
        listOf(event['errors'])
          .filter((e) => typeof e === 'string')
          .join('; ');
      const reason = textOf(event['terminal_reason']) ?? textOf(event['subtype']) ?? 'result';
      if (event['is_error'] !== true) {
        // It ends so when it was told to stop in the middle of an answer, too.
        const isCut = event['stop_reason'] === 'max_tokens';
        if (isCut) emit({ kind: 'error', ...cutAnswer(said) });
        emit({ kind: 'end', ok: !isCut, reason: isCut ? 'max_tokens' : reason, text: said });
        return;
      }
      const { code, message } = failure(event, said);
      emit({ kind: 'error', code, message });
      emit({ kind: 'end', ok: false, reason: code === 'E_CONTEXT_OVERFLOW' ? 'max_tokens' : reason, text: null });
    };

    const on: Readonly<Record<string, (event: Json) => void>> = {
      system,
      assistant,
      stream_event: (event) => piece(event['event']),
      result,
    };
    return {
      event: (event: Json): void => {
        const type = textOf(event['type']);
        if (type !== null && Object.hasOwn(on, type)) on[type]?.(event);
      },
    };
  });
}
