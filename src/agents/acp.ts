/**
 * Any agent that speaks the Agent Client Protocol (version 1) on its standard input and output. One process, one session, one prompt.
 *
 * The agent is offered no files and no terminal of ours: what it does, it does itself, and it asks before. The answers come from the
 * run's access (`acp-access.ts`), for this one time and never for always. What it does without asking is not held by this; so without
 * a sandbox it is put into a mode that asks, where it has one.
 *
 * `reader` says the first word, so the program has to be running, or `say` has to keep what is said before it is.
 */
import type { ErrorCode } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { isUnrestricted, judge, MOST_PATHS, pathsOf, type ToolCall } from './acp-access.ts';
import { homeOf } from './acp-home.ts';
import { countsOf, pickAsking, pickModel, type Settable } from './acp-session.ts';
import type { AgentSign, Launch, ProgramAdapter, Reader, ReaderContext, TurnRequest } from './adapter.ts';
import { failureOf, statusIn } from './failures.ts';
import { type Json, objectOf, textOf } from './json.ts';
import { createRpcPeer, jsonOf, type RpcAnswer, type RpcError } from './json-rpc.ts';
import { envOf, programOf } from './launching.ts';
import { exitWords } from './stream.ts';
import { tailOf } from './tail.ts';
import { brief } from './words.ts';

const PROTOCOL_VERSION = 1;

/** In characters: the last statement is kept so far back. */
const MOST_STATEMENT = 10 * 1024 * 1024;
/** Tool calls that are under way at one time. */
const MOST_CALLS = 1000;

/** What it means where the agent answers with an error. */
interface Refused {
  readonly code: ErrorCode;
  readonly hint?: string;
}

const fieldsOf = (value: unknown): Json => objectOf(value) ?? {};
const wordOf = (value: unknown): string | null => textOf(value) || null;

export const acp: ProgramAdapter = {
  way: 'program',
  kind: 'acp',
  provider: 'OTHER',
  program: null,
  goesOn: true,
  hasEnd: true,
  usage: 'at-end',
  streamsDollars: false,
  launch,
  reader,
};

function launch(request: TurnRequest): Launch {
  const { agent, access, sandboxed } = request;
  const home = homeOf(request);
  return {
    command: [...programOf(request, ''), ...agent.args],
    ...home,
    env: { ...home.env, ...envOf(request) },
    stdin: 'open',
    files: [],
    enforces:
      sandboxed || isUnrestricted(access)
        ? []
        : ['paths and commands, as far as it asks, by answers to its session/request_permission'],
  };
}

function reader(context: ReaderContext): Reader {
  const { request } = context;
  let signs = 0;
  const emit = (sign: AgentSign): void => {
    signs++;
    context.emit(sign);
  };
  const calls = new Map<string, ToolCall & { readonly paths: Set<string> }>();
  const statement = createTail(MOST_STATEMENT);
  const complaints = tailOf();
  let session = '';
  let prompted = false;
  let over = false;
  let wasTooLong = false;
  let lastMessage: string | null = null;
  let isBetween = false;
  let lastDenied: string | null = null;
  let usdBefore = 0;
  let fullest = 0;
  let usd: number | null = null;

  const peer = createRpcPeer({
    say: (line) => {
      if (!over) context.say(line);
    },
    // Files and terminals are not offered, so they are not known either.
    asked: (method, params) =>
      method === 'session/request_permission' && !over ? { result: { outcome: permission(fieldsOf(params)) } } : null,
    told(method, params) {
      if (method === 'session/update') update(fieldsOf(fieldsOf(params)['update']));
    },
    dropped() {
      if (wasTooLong) return;
      wasTooLong = true;
      const message = 'expected lines of at most 10 MB from the agent, got a longer one, which was skipped';
      emit({ kind: 'error', code: 'E_CONTEXT_OVERFLOW', message });
    },
  });

  const finish = (ok: boolean, reason: string): void => {
    if (over) return;
    emit({ kind: 'end', ok, reason, text: statement.text().trim() || null });
    over = true;
    context.hangUp();
  };
  const fail = (code: ErrorCode, message: string, reason = 'error'): void => {
    if (over) return;
    emit({ kind: 'error', code, message });
    finish(false, reason);
  };

  /** Asks, and goes on only with an answer that is no error. */
  const ask = (method: string, params: Json, then: (result: Json) => void, refused?: Refused): void =>
    peer.request(method, params, (answer: RpcAnswer) => {
      if (over) return;
      if (answer.ok) return then(fieldsOf(answer.result));
      const { code, message, data } = answer.error;
      const more = data == null ? '' : ` ${brief(jsonOf(data), 500)}`;
      const words = `expected an answer to ${method}, got the error ${code}: ${message}${more}`;
      fail(refused?.code ?? codeOf(answer.error), `${words}${refused?.hint ?? ''}`);
    });

  function begin(): void {
    ask(
      'initialize',
      {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: { name: 'baton', title: 'Baton', version: VERSION },
      },
      (result) => {
        const version = result['protocolVersion'];
        if (version === PROTOCOL_VERSION) return open(fieldsOf(result['agentCapabilities']));
        fail(
          'E_SCHEMA_VALIDATION',
          `expected an agent that speaks version ${PROTOCOL_VERSION} of ACP, got ${brief(jsonOf(version))}`,
        );
      },
    );
  }

  function open(capabilities: Json): void {
    const place = { cwd: request.workspace, mcpServers: serversOf(request) };
    const known = request.resume;
    if (known !== null && capabilities['loadSession'] === true) {
      return ask('session/load', { sessionId: known, ...place }, (result) => opened(known, result));
    }
    if (known !== null && request.resumeOnly === true) {
      return fail(
        'E_PERMISSION_DENIED',
        'expected an agent that can go on with a conversation, and it cannot load one',
      );
    }
    // An agent that cannot load begins anew; the id of the conversation says so.
    ask('session/new', place, (result) => {
      const id = wordOf(result['sessionId']);
      if (id !== null) return opened(id, result);
      fail('E_SCHEMA_VALIDATION', 'expected a sessionId in the answer to session/new, got none');
    });
  }

  function opened(id: string, result: Json): void {
    session = id;
    emit({ kind: 'conversation', id });
    const mode = request.sandboxed || isUnrestricted(request.access) ? null : pickAsking(result);
    const { current, change, offered } = pickModel(result, request.model);
    if (current !== null && change === null) emit({ kind: 'model', model: current });
    const hint = `; it offers ${brief(offered.join(', '))}`;
    set(mode, { code: 'E_PERMISSION_DENIED' }, () =>
      set(change, { code: 'E_MODEL_UNAVAILABLE', hint }, () => {
        if (change !== null) emit({ kind: 'model', model: change.value });
        prompt();
      }),
    );
  }

  function set(what: Settable | null, refused: Refused, then: () => void): void {
    if (what === null) return then();
    ask(what.method, { sessionId: session, ...what.params }, then, refused);
  }

  function prompt(): void {
    prompted = true;
    ask('session/prompt', { sessionId: session, prompt: [{ type: 'text', text: request.prompt }] }, answered);
  }

  function answered(result: Json): void {
    const { tokens, model } = countsOf(result);
    if (model !== null) emit({ kind: 'model', model });
    if (tokens !== null) emit({ kind: 'usage', ...tokens, usd, final: true });
    const reason = wordOf(result['stopReason']) ?? 'none';
    if (reason === 'end_turn') return finish(true, reason);
    // Some agents end the turn where a tool is refused; then the refusal is the cause.
    if (reason === 'cancelled' && lastDenied !== null) {
      return fail('E_PERMISSION_DENIED', `the agent ended its turn when it was refused: ${lastDenied}`, reason);
    }
    const code = reason === 'max_tokens' ? 'E_CONTEXT_OVERFLOW' : 'E_UNKNOWN';
    fail(code, `expected the turn to end with end_turn, got ${brief(reason)}`, reason);
  }

  function update(fields: Json): void {
    // A session that is loaded is told again from its beginning; none of that is this turn's.
    if (!prompted || over) {
      if (fields['sessionUpdate'] === 'usage_update') usdBefore = dollarsOf(fields) ?? usdBefore;
      return;
    }
    switch (fields['sessionUpdate']) {
      case 'agent_message_chunk':
        return message(fields);
      case 'tool_call':
      case 'tool_call_update':
        return toolCall(fields);
      case 'plan':
        return emit({ kind: 'tool', name: 'plan', detail: planOf(fields) });
      case 'usage_update':
        return usage(fields);
    }
  }

  function message(fields: Json): void {
    const id = wordOf(fields['messageId']);
    const text = wordOf(fieldsOf(fields['content'])['text']);
    if (text === null) return;
    if (isBetween || id !== lastMessage) statement.clear();
    isBetween = false;
    lastMessage = id;
    statement.add(text);
    emit({ kind: 'text', text, whole: false });
  }

  function toolCall(fields: Json): void {
    const id = wordOf(fields['toolCallId']);
    const before = calls.get(id ?? '')?.title;
    const { kind, title } = learn(id, fields);
    if (id !== null && (fields['status'] === 'completed' || fields['status'] === 'failed')) calls.delete(id);
    if (before === title || title === '') return;
    // What it says after a tool is a new statement.
    isBetween = true;
    emit({ kind: 'tool', name: brief(kind ?? 'other', 100), detail: brief(title) });
  }

  /** Adds what is said of a tool call now to what was said before: agents name the paths in one message and ask in another. */
  function learn(id: string | null, fields: Json): ToolCall {
    const before = calls.get(id ?? '');
    const paths = before?.paths ?? new Set<string>();
    for (const path of pathsOf(fields)) if (paths.size <= MOST_PATHS) paths.add(path);
    const call = {
      kind: wordOf(fields['kind']) ?? before?.kind ?? null,
      title: wordOf(fields['title']) ?? before?.title ?? '',
      paths,
    };
    if (id === null) return call;
    calls.set(id, call);
    const oldest = calls.keys().next().value;
    if (calls.size > MOST_CALLS && oldest !== undefined) calls.delete(oldest);
    return call;
  }

  function permission(params: Json): object {
    const asked = fieldsOf(params['toolCall']);
    const call = learn(wordOf(asked['toolCallId']), asked);
    const options = Array.isArray(params['options']) ? params['options'].map(fieldsOf) : [];
    const optionOf = (kind: string): string | null =>
      wordOf(options.find((option) => option['kind'] === kind)?.['optionId']);

    const verdict = judge(call, request);
    const once = optionOf('allow_once');
    if (verdict.allowed && once !== null) return { outcome: 'selected', optionId: once };
    const why = verdict.allowed ? 'it does not offer to be allowed once' : verdict.why;
    lastDenied = `${brief(call.kind ?? 'other', 100)} ${brief(call.title)}: ${brief(why)}`;
    emit({ kind: 'denied', what: lastDenied });
    const reject = optionOf('reject_once') ?? optionOf('reject_always');
    return reject === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: reject };
  }

  function usage(fields: Json): void {
    const dollars = dollarsOf(fields);
    // The cost is the session's since its beginning, this turn's is what came on top.
    if (dollars !== null) usd = Math.max(0, dollars - usdBefore);
    const used = fields['used'];
    if (typeof used !== 'number') return;
    // How full the context is: the fullest it was, was read at least once, so that is the least that was used.
    fullest = Math.max(fullest, used);
    emit({ kind: 'usage', tokensInput: fullest, tokensOutput: 0, usd, final: false });
  }

  /** Bytes are a sign of life, whatever is in them: one a chunk where they said nothing else. */
  const living = (read: () => void): void => {
    const before = signs;
    read();
    if (signs === before) emit({ kind: 'alive' });
  };

  begin();
  return {
    stdout: (chunk) => living(() => peer.feed(chunk)),
    stderr: (chunk) => living(() => complaints.push(chunk)),
    end(exit) {
      peer.finish();
      if (over) return;
      over = true;
      const awaited = prompted ? 'session/prompt' : session === '' ? 'initialize and session/new' : 'its settings';
      const said = complaints.text();
      const message = `expected an answer to ${awaited}, but the agent ${exitWords(exit)}${said === '' ? '' : `; the last it said: ${said}`}`;
      emit({ kind: 'error', code: 'E_PROCESS_CRASH', message });
    },
  };
}

/** Baton's own tools, in the form of session/new. */
function serversOf({ mcp }: TurnRequest): readonly object[] {
  if (mcp === null) return [];
  const [command = '', ...args] = mcp.command;
  return [{ name: mcp.name, command, args, env: Object.entries(mcp.env).map(([name, value]) => ({ name, value })) }];
}

/** What a JSON-RPC error means here. The numbers are the protocol's; inside an "internal error" only words tell. */
function codeOf({ code, message, data }: RpcError): ErrorCode {
  if (code === -32_000) return 'E_CREDENTIALS';
  if (code === -32_002) return 'E_NOT_FOUND';
  if (code === -32_601 || code === -32_602) return 'E_SCHEMA_VALIDATION';
  const words = `${message} ${data == null ? '' : jsonOf(data)}`;
  return failureOf(statusIn(words), words).code;
}

function dollarsOf(fields: Json): number | null {
  const { amount, currency } = fieldsOf(fields['cost']);
  return typeof amount === 'number' && currency === 'USD' ? amount : null;
}

function planOf(fields: Json): string {
  const entries = Array.isArray(fields['entries']) ? fields['entries'].map(fieldsOf) : [];
  const done = entries.filter((entry) => entry['status'] === 'completed').length;
  const now = wordOf(entries.find((entry) => entry['status'] === 'in_progress')?.['content']);
  return `${done} of ${entries.length} done${now === null ? '' : `: ${brief(now)}`}`;
}

/** The end of a text that may be very long. */
function createTail(most: number): { add(text: string): void; clear(): void; text(): string } {
  let parts: string[] = [];
  let length = 0;
  return {
    add(text) {
      parts.push(text);
      length += text.length;
      if (length <= 2 * most) return;
      // Joined only now and then, so that many small parts cost what they are long.
      parts = [parts.join('').slice(-most)];
      length = most;
    },
    clear() {
      parts = [];
      length = 0;
    },
    text: () => parts.join('').slice(-most),
  };
}
