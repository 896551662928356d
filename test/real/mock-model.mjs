#!/usr/bin/env node
import fs from 'node:fs';
/**
 * mock-model.mjs: one scripted model server for real coding-agent CLIs. No dependencies, Node >= 18.
 *
 * Speaks (streaming and not):
 *   Anthropic   POST …/v1/messages, …/v1/messages/count_tokens          (claude, claude-agent-acp)
 *   OpenAI      POST …/v1/responses                                     (codex, codex-acp)
 *   OpenAI      POST …/v1/chat/completions                              (opencode, anything "openai compatible")
 *   Gemini      POST …/v1beta/models/M:streamGenerateContent|generateContent|countTokens   (gemini)
 *   all         GET  …/v1/models
 *
 * Which script a request gets, first match wins:
 *   1. inline in the newest user prompt:  <mock>{"steps":[…]}</mock>
 *   2. named in the newest user prompt:   [[mock:NAME]]
 *   3. the first whose `when`, a list of texts, all stand in the newest user prompt
 *   4. named in the base URL:             http://127.0.0.1:PORT/s/NAME
 *   5. the script named "default"
 * Which step of it: the number of tool rounds already in this turn's transcript. So the server keeps no
 * conversation state: a retry gets the same step again, and many agents can share one server.
 * A request that offers no tools (titles, summaries, classifiers) gets the text "ok" and is logged aux:true.
 *
 * A script: {"steps":[STEP,…],"when":[TEXT,…]}; past its end the last step is repeated without its tools. A STEP:
 *   {"text":"…"}                        say it ({{tool_result}} is replaced by the newest tool result)
 *   {"thinking":"…"}                    reasoning before the text, where the API has it (Anthropic only here)
 *   {"tools":[ACTION,…]}                call tools (after text, if any). An ACTION is agent-neutral:
 *       {"do":"write","path":P,"content":C}  {"do":"read","path":P}  {"do":"shell","command":S}
 *       {"do":"edit","path":P,"old":A,"new":B}         (A and B of whole lines, each ending in \n, become a patch in codex)
 *       {"do":"mcp","server":S,"tool":T,"input":{…}}   (named as each agent names MCP tools, listed or deferred)
 *       {"do":"call","name":N,"input":{…}}             (any tool by exact name)
 *   {"status":500,"times":2}            answer HTTP 500; with times, only that often, then the rest of the step
 *   {"retryAfter":1}                    with status: a retry-after header
 *   {"hang":"headers"|"body"}           never answer | start the stream, then go silent
 *   {"drop":true}                       start the stream, then destroy the socket
 *   {"delayMs":500} {"chunkDelayMs":50} wait before answering | between chunks
 *   {"usage":{"input":1000,"output":50,"cached":0}}
 *   {"stop":"max_tokens"}               end reason (max_tokens | refusal)
 *
 * CLI:   node mock-model.mjs [--port 0] [--scripts scripts.json] [--log requests.jsonl] [--bodies DIR]
 *        prints {"listening":"http://127.0.0.1:PORT"} on stdout
 * API:   import { startMockModel } from './mock-model.mjs'
 *        const m = await startMockModel({ scripts }); m.url; m.requests; await m.close()
 * Admin: GET /__mock/requests   PUT /__mock/scripts (merge JSON)   DELETE /__mock/requests (and the failure counts)
 */
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
let seq = 0;
const id = (p) => `${p}${Date.now().toString(36)}${(++seq).toString(36).padStart(4, '0')}`;
const asText = (x) =>
  typeof x === 'string'
    ? x
    : Array.isArray(x)
      ? x.map((b) => b?.text ?? (typeof b === 'string' ? b : '')).join('')
      : x == null
        ? ''
        : (x.text ?? x.output ?? JSON.stringify(x));
const chunks = (s, n = 24) => (s.length ? s.match(new RegExp(`[\\s\\S]{1,${n}}`, 'g')) : []);
// CLIs put reminders and environment notes into user messages: these are not prompts.
const isNote = (t) =>
  /^\s*<(system-reminder|environment_context|user_instructions|permissions|skills|collaboration_mode|session_context)/.test(
    t,
  ) ||
  /^\s*This is the Gemini CLI/.test(t) ||
  !t.trim();

export const builtinScripts = {
  default: { steps: [{ text: 'Hello from the mock model.' }] },
  text: { steps: [{ text: 'Hello from the mock model.' }] },
  write: {
    steps: [
      { text: 'I will write the file.', tools: [{ do: 'write', path: 'hello.txt', content: 'hello from mock\n' }] },
      { text: 'Done: wrote hello.txt.' },
    ],
  },
  shell: {
    steps: [
      { tools: [{ do: 'shell', command: 'echo shell-ok > shell.txt && cat shell.txt' }] },
      { text: 'Done. Output: {{tool_result}}' },
    ],
  },
  outside: {
    steps: [
      { tools: [{ do: 'write', path: '../mock-outside/evil.txt', content: 'outside\n' }] },
      { text: 'After the attempt: {{tool_result}}' },
    ],
  },
  sleepy: { steps: [{ tools: [{ do: 'shell', command: 'timeout 120 tail -f /dev/null' }] }, { text: 'Slept.' }] },
  e400: { steps: [{ status: 400 }] },
  e401: { steps: [{ status: 401 }] },
  e404: { steps: [{ status: 404 }] },
  e429: { steps: [{ status: 429 }] },
  e500: { steps: [{ status: 500 }] },
  e529: { steps: [{ status: 529 }] },
  flaky: { steps: [{ status: 500, times: 1, text: 'Recovered after one 500.' }] },
  ratelimited: { steps: [{ status: 429, times: 1, retryAfter: 1, text: 'Recovered after one 429.' }] },
  hang: { steps: [{ hang: 'headers' }] },
  stall: { steps: [{ text: 'Starting', hang: 'body' }] },
  drop: { steps: [{ text: 'Starting and', drop: true }] },
  slow: { steps: [{ text: 'one two three four five six seven eight nine ten '.repeat(8), chunkDelayMs: 200 }] },
  truncated: { steps: [{ text: 'This was cut', stop: 'max_tokens' }] },
};

// ---------- reading a request: the same facts out of each API ----------

/** -> { prompt, round, lastResult, tools:[{name,freeform}], stream, model } */
const read = {
  anthropic(b) {
    let prompt = '',
      round = 0,
      last = '';
    for (const m of b.messages ?? []) {
      const blocks = typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : (m.content ?? []);
      const results = blocks.filter((x) => x.type === 'tool_result');
      if (m.role === 'user') {
        for (const r of results) last = asText(r.content);
        const t = blocks
          .filter((x) => x.type === 'text' && !isNote(x.text))
          .map((x) => x.text)
          .join('\n');
        if (!results.length && t) {
          prompt = t;
          round = 0;
          last = '';
        }
      } else if (m.role === 'assistant' && blocks.some((x) => x.type === 'tool_use')) round++;
    }
    return {
      prompt,
      round,
      lastResult: last,
      tools: (b.tools ?? []).map((t) => ({ name: t.name })),
      stream: !!b.stream,
      model: b.model,
    };
  },
  responses(b) {
    let prompt = '',
      round = 0,
      last = '',
      inCalls = false;
    const items = typeof b.input === 'string' ? [{ type: 'message', role: 'user', content: b.input }] : (b.input ?? []);
    for (const it of items) {
      const isCall = /_call$/.test(it.type ?? '');
      if (isCall) {
        if (!inCalls) round++;
        inCalls = true;
      } else if (/_call_output$/.test(it.type ?? '')) {
        inCalls = false;
        last = asText(it.output);
      } else if ((it.type ?? 'message') === 'message' && it.role === 'user') {
        const t = asText(it.content);
        if (!isNote(t)) {
          prompt = t;
          round = 0;
          last = '';
          inCalls = false;
        }
      }
    }
    const flat = (ts) =>
      ts.flatMap((t) =>
        t.type === 'namespace'
          ? (t.tools ?? []).map((u) => ({ name: u.name, namespace: t.name, freeform: u.type === 'custom' }))
          : [{ name: t.name ?? t.type, freeform: t.type === 'custom' }],
      );
    return { prompt, round, lastResult: last, tools: flat(b.tools ?? []), stream: !!b.stream, model: b.model };
  },
  chat(b) {
    let prompt = '',
      round = 0,
      last = '';
    for (const m of b.messages ?? []) {
      if (m.role === 'user') {
        const t = asText(m.content);
        if (!isNote(t)) {
          prompt = t;
          round = 0;
          last = '';
        }
      } else if (m.role === 'assistant' && m.tool_calls?.length) round++;
      else if (m.role === 'tool') last = asText(m.content);
    }
    return {
      prompt,
      round,
      lastResult: last,
      tools: (b.tools ?? []).map((t) => ({ name: t.function?.name ?? t.name })),
      stream: !!b.stream,
      model: b.model,
    };
  },
  gemini(b, url) {
    let prompt = '',
      round = 0,
      last = '';
    for (const c of b.contents ?? []) {
      const parts = c.parts ?? [];
      if (c.role === 'model') {
        if (parts.some((p) => p.functionCall)) round++;
      } else {
        const fr = parts.filter((p) => p.functionResponse);
        for (const p of fr) last = asText(p.functionResponse.response);
        const t = parts
          .filter((p) => typeof p.text === 'string' && !isNote(p.text))
          .map((p) => p.text)
          .join('\n');
        if (!fr.length && t) {
          prompt = t;
          round = 0;
          last = '';
        }
      }
    }
    const tools = (b.tools ?? []).flatMap((t) => (t.functionDeclarations ?? []).map((f) => ({ name: f.name })));
    return {
      prompt,
      round,
      lastResult: last,
      tools,
      stream: url.includes(':streamGenerateContent'),
      model: /models\/([^:/]+)/.exec(url)?.[1],
    };
  },
};

// ---------- agent-neutral actions -> the tool this agent offers ----------

const q = (s) => `'${String(s).replaceAll("'", `'\\''`)}'`;
const patchAdd = (p, c) =>
  `*** Begin Patch\n*** Add File: ${p}\n${c
    .replace(/\n$/, '')
    .split('\n')
    .map((l) => '+' + l)
    .join('\n')}\n*** End Patch\n`;
const patchEdit = (p, o, n) =>
  `*** Begin Patch\n*** Update File: ${p}\n@@\n${o
    .replace(/\n$/, '')
    .split('\n')
    .map((l) => '-' + l)
    .join('\n')}\n${n
    .replace(/\n$/, '')
    .split('\n')
    .map((l) => '+' + l)
    .join('\n')}\n*** End Patch\n`;
const wholeLines = (a) => a.old.endsWith('\n') && a.new.endsWith('\n');
const shellForms = {
  Bash: (c) => ({ command: c, description: 'scripted' }),
  run_shell_command: (c) => ({ command: c, description: 'scripted' }),
  bash: (c) => ({ command: c, description: 'scripted' }),
  exec_command: (c) => ({ cmd: c }),
  shell_command: (c) => ({ command: c }),
  shell: (c) => ({ command: ['bash', '-lc', c] }),
  // codex "code mode": one freeform JavaScript tool that calls the others
  exec: (c) => `const r = await tools.exec_command({ cmd: ${JSON.stringify(c)} }); text(r);`,
};
const forms = {
  write: {
    Write: (a) => ({ file_path: a.path, content: a.content }),
    write_file: (a) => ({ file_path: a.path, content: a.content }),
    write: (a) => ({ filePath: a.path, content: a.content }),
    apply_patch: (a, t) =>
      t.freeform
        ? patchAdd(a.path, a.content)
        : { input: patchAdd(a.path, a.content), patchText: patchAdd(a.path, a.content) },
    exec: (a) => `const r = await tools.apply_patch(${JSON.stringify(patchAdd(a.path, a.content))}); text(r);`,
  },
  edit: {
    Edit: (a) => ({ file_path: a.path, old_string: a.old, new_string: a.new }),
    replace: (a) => ({ file_path: a.path, instruction: 'scripted', old_string: a.old, new_string: a.new }),
    edit: (a) => ({ filePath: a.path, oldString: a.old, newString: a.new }),
    // a patch replaces whole lines: where old and new are not, the agent's shell does the edit
    apply_patch: (a, t) =>
      !wholeLines(a)
        ? null
        : t.freeform
          ? patchEdit(a.path, a.old, a.new)
          : { input: patchEdit(a.path, a.old, a.new), patchText: patchEdit(a.path, a.old, a.new) },
    exec: (a) =>
      wholeLines(a)
        ? `const r = await tools.apply_patch(${JSON.stringify(patchEdit(a.path, a.old, a.new))}); text(r);`
        : null,
  },
  read: {
    Read: (a) => ({ file_path: a.path }),
    read_file: (a) => ({ file_path: a.path }),
    read: (a) => ({ filePath: a.path }),
  },
  shell: Object.fromEntries(Object.entries(shellForms).map(([k, f]) => [k, (a) => f(a.command)])),
};
const asShell = {
  // where an agent has no tool of the kind, its shell does it
  write: (a) => `mkdir -p ${q(path.dirname(a.path))} && printf %s ${q(a.content)} > ${q(a.path)}`,
  read: (a) => `cat ${q(a.path)}`,
  edit: (a) =>
    `node -e ${q(`const f=require('fs'),p=${JSON.stringify(a.path)};f.writeFileSync(p,f.readFileSync(p,'utf8').replace(${JSON.stringify(a.old)},()=>${JSON.stringify(a.new)}))`)}`,
};
/** -> { name, namespace?, input, freeform } */
function toCall(a, tools, api) {
  if (a.do === 'call') return { ...(tools.find((t) => t.name === a.name) ?? { name: a.name }), input: a.input ?? {} };
  if (a.do === 'mcp') {
    const { server: s, tool: n } = a;
    const listed =
      tools.find((t) => t.namespace === `mcp__${s}` && t.name === n) ??
      tools.find(
        (t) => !t.namespace && [`mcp__${s}__${n}`, `mcp_${s}_${n}`, `${s}__${n}`, `${s}_${n}`].includes(t.name),
      );
    const deferred = {
      anthropic: { name: `mcp__${s}__${n}` },
      responses: { namespace: `mcp__${s}`, name: n },
      gemini: { name: `mcp_${s}_${n}` },
      chat: { name: `${s}_${n}` },
    }[api];
    return { ...(listed ?? deferred), input: a.input ?? {} };
  }
  for (const [name, f] of Object.entries(forms[a.do] ?? {})) {
    const t = tools.find((x) => x.name === name) ?? tools.find((x) => x.name === 'mcp__acp__' + name); // an ACP bridge's own
    const input = t && f(a, t);
    if (input != null) return { ...t, input };
  }
  if (asShell[a.do]) return toCall({ do: 'shell', command: asShell[a.do](a) }, tools, api);
  return null; // not offered in this mode (e.g. gemini headless without approval)
}

// ---------- writing an answer: one function per API, streaming or whole ----------

const say = {
  async anthropic(out, { r, text, thinking, calls, usage, stop }) {
    const content = [];
    if (thinking) content.push({ type: 'thinking', thinking, signature: 'bW9jaw==' });
    if (text) content.push({ type: 'text', text });
    for (const c of calls) content.push({ type: 'tool_use', id: id('toolu_'), name: c.name, input: c.input });
    const stop_reason = stop ?? (calls.length ? 'tool_use' : 'end_turn');
    const u = {
      input_tokens: usage.input,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: usage.cached,
      output_tokens: usage.output,
    };
    const message = {
      id: id('msg_'),
      type: 'message',
      role: 'assistant',
      model: r.model,
      content,
      stop_reason,
      stop_sequence: null,
      usage: u,
    };
    if (!r.stream) return out.json(message);
    const ev = (type, d) => out.sse({ type, ...d }, type);
    await ev('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: { ...u, output_tokens: 1 } },
    });
    for (const [index, b] of content.entries()) {
      if (b.type === 'text') {
        await ev('content_block_start', { index, content_block: { type: 'text', text: '' } });
        for (const t of chunks(b.text))
          await ev('content_block_delta', { index, delta: { type: 'text_delta', text: t } });
      } else if (b.type === 'thinking') {
        await ev('content_block_start', { index, content_block: { type: 'thinking', thinking: '', signature: '' } });
        await ev('content_block_delta', { index, delta: { type: 'thinking_delta', thinking: b.thinking } });
        await ev('content_block_delta', { index, delta: { type: 'signature_delta', signature: b.signature } });
      } else {
        await ev('content_block_start', { index, content_block: { ...b, input: {} } });
        for (const t of chunks(JSON.stringify(b.input), 60))
          await ev('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: t } });
      }
      await out.checkpoint();
      await ev('content_block_stop', { index });
    }
    await out.checkpoint();
    await ev('message_delta', {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: u.output_tokens },
    });
    await ev('message_stop', {});
    out.end();
  },

  async responses(out, { r, text, calls, usage, stop }) {
    const rid = id('resp_'),
      output = [];
    if (text)
      output.push({
        type: 'message',
        id: id('msg_'),
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      });
    for (const c of calls) {
      const ns = c.namespace ? { namespace: c.namespace } : {};
      output.push(
        c.freeform
          ? {
              type: 'custom_tool_call',
              id: id('ctc_'),
              call_id: id('call_'),
              name: c.name,
              ...ns,
              input: c.input,
              status: 'completed',
            }
          : {
              type: 'function_call',
              id: id('fc_'),
              call_id: id('call_'),
              name: c.name,
              ...ns,
              arguments: JSON.stringify(c.input),
              status: 'completed',
            },
      );
    }
    const response = {
      id: rid,
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      model: r.model,
      status: stop === 'max_tokens' ? 'incomplete' : 'completed',
      incomplete_details: stop === 'max_tokens' ? { reason: 'max_output_tokens' } : null,
      error: null,
      output,
      usage: {
        input_tokens: usage.input,
        input_tokens_details: { cached_tokens: usage.cached },
        output_tokens: usage.output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.input + usage.output,
      },
    };
    if (!r.stream) return out.json(response);
    let n = 0;
    const ev = (type, d) => out.sse({ type, sequence_number: n++, ...d }, type);
    await ev('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } });
    for (const [output_index, it] of output.entries()) {
      await ev('response.output_item.added', {
        output_index,
        item: {
          ...it,
          status: 'in_progress',
          ...(it.content ? { content: [] } : it.arguments != null ? { arguments: '' } : { input: '' }),
        },
      });
      if (it.type === 'message') {
        const at = { item_id: it.id, output_index, content_index: 0 };
        await ev('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } });
        for (const t of chunks(text)) await ev('response.output_text.delta', { ...at, delta: t });
        await out.checkpoint();
        await ev('response.output_text.done', { ...at, text });
        await ev('response.content_part.done', { ...at, part: it.content[0] });
      } else if (it.type === 'function_call') {
        await ev('response.function_call_arguments.delta', { item_id: it.id, output_index, delta: it.arguments });
        await ev('response.function_call_arguments.done', { item_id: it.id, output_index, arguments: it.arguments });
      } else {
        await ev('response.custom_tool_call_input.delta', { item_id: it.id, output_index, delta: it.input });
        await ev('response.custom_tool_call_input.done', { item_id: it.id, output_index, input: it.input });
      }
      await ev('response.output_item.done', { output_index, item: it });
    }
    await out.checkpoint();
    await ev(stop === 'max_tokens' ? 'response.incomplete' : 'response.completed', { response });
    out.end();
  },

  async chat(out, { r, text, calls, usage, stop }) {
    const base = { id: id('chatcmpl-'), created: Math.floor(Date.now() / 1000), model: r.model };
    const tool_calls = calls.map((c, index) => ({
      index,
      id: id('call_'),
      type: 'function',
      function: { name: c.name, arguments: JSON.stringify(c.input) },
    }));
    const u = {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
    };
    const finish_reason = stop === 'max_tokens' ? 'length' : calls.length ? 'tool_calls' : 'stop';
    if (!r.stream)
      return out.json({
        ...base,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: text || null, ...(calls.length && { tool_calls }) },
            finish_reason,
          },
        ],
        usage: u,
      });
    const ev = (delta, finish = null, extra = {}) =>
      out.sse({
        ...base,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...extra,
      });
    await ev({ role: 'assistant', content: '' });
    for (const t of chunks(text)) await ev({ content: t });
    await out.checkpoint();
    for (const c of tool_calls) await ev({ tool_calls: [c] });
    await ev({}, finish_reason);
    await out.sse({ ...base, object: 'chat.completion.chunk', choices: [], usage: u });
    await out.raw('data: [DONE]\n\n');
    out.end();
  },

  async gemini(out, { r, text, calls, usage, stop }) {
    const usageMetadata = {
      promptTokenCount: usage.input,
      candidatesTokenCount: usage.output,
      cachedContentTokenCount: usage.cached,
      totalTokenCount: usage.input + usage.output,
    };
    const finishReason = stop === 'max_tokens' ? 'MAX_TOKENS' : stop === 'refusal' ? 'SAFETY' : 'STOP';
    const mk = (parts, fin) => ({
      candidates: [{ content: { role: 'model', parts }, index: 0, ...(fin && { finishReason: fin }) }],
      usageMetadata,
      modelVersion: r.model,
      responseId: out.rid,
    });
    const fc = calls.map((c) => ({ functionCall: { name: c.name, args: c.input } }));
    if (!r.stream) return out.json(mk([...(text ? [{ text }] : []), ...fc], finishReason));
    for (const t of chunks(text)) await out.sse(mk([{ text: t }]));
    await out.checkpoint();
    await out.sse(mk(fc.length ? fc : [{ text: '' }], finishReason));
    out.end();
  },
};

const errorBody = {
  anthropic: (s, m) => ({
    type: 'error',
    error: {
      type:
        {
          400: 'invalid_request_error',
          401: 'authentication_error',
          403: 'permission_error',
          404: 'not_found_error',
          429: 'rate_limit_error',
          529: 'overloaded_error',
        }[s] ?? 'api_error',
      message: m,
    },
    request_id: id('req_'),
  }),
  responses: (s, m) => ({
    error: {
      message: m,
      type: s === 429 ? 'rate_limit_error' : s === 401 ? 'invalid_request_error' : 'server_error',
      code: s === 401 ? 'invalid_api_key' : s === 429 ? 'rate_limit_exceeded' : null,
      param: null,
    },
  }),
  gemini: (s, m) => ({
    error: {
      code: s,
      message: m,
      status:
        {
          400: 'INVALID_ARGUMENT',
          401: 'UNAUTHENTICATED',
          403: 'PERMISSION_DENIED',
          404: 'NOT_FOUND',
          429: 'RESOURCE_EXHAUSTED',
          503: 'UNAVAILABLE',
        }[s] ?? 'INTERNAL',
    },
  }),
};
errorBody.chat = errorBody.responses;

const apiOf = (p) =>
  /\/messages$/.test(p)
    ? 'anthropic'
    : /\/responses$/.test(p)
      ? 'responses'
      : /\/chat\/completions$/.test(p)
        ? 'chat'
        : /:(stream)?[gG]enerateContent$/.test(p)
          ? 'gemini'
          : null;

// ---------- the server ----------

export async function startMockModel({ port = 0, scripts = {}, log = null, bodies = null, onRequest = null } = {}) {
  const table = { ...builtinScripts, ...scripts };
  const requests = [];
  const failures = new Map(); // "script#step" -> how often it has failed

  const server = http.createServer(async (req, res) => {
    const url = new URL(req.url, 'http://mock');
    const p = url.pathname;
    let raw = '';
    for await (const c of req) raw += c;
    const json = (o, status = 200, headers = {}) => {
      res.writeHead(status, { 'content-type': 'application/json', ...headers });
      res.end(JSON.stringify(o));
    };

    if (p === '/__mock/requests') {
      if (req.method === 'DELETE') {
        requests.length = 0;
        failures.clear();
      }
      return json(requests);
    }
    if (p === '/__mock/scripts') {
      if (req.method === 'PUT') Object.assign(table, JSON.parse(raw));
      return json(Object.keys(table));
    }

    const record = (x) => {
      const row = { n: requests.length, t: Date.now(), method: req.method, path: p, ...x };
      requests.push(row);
      onRequest?.(row);
      if (log) fs.appendFileSync(log, JSON.stringify(row) + '\n');
      if (bodies && raw) fs.writeFileSync(path.join(bodies, `${String(row.n).padStart(4, '0')}.json`), raw);
      return row;
    };
    const api = apiOf(p);
    if (!api || req.method !== 'POST') {
      record({ api: 'other' });
      if (/count_tokens$/.test(p)) return json({ input_tokens: Math.ceil(raw.length / 4) });
      if (/:countTokens$/.test(p)) return json({ totalTokens: Math.ceil(raw.length / 4) });
      if (/\/models$/.test(p))
        return json({
          object: 'list',
          data: [
            {
              id: 'mock',
              object: 'model',
              type: 'model',
              owned_by: 'mock',
              display_name: 'mock',
              created_at: '2026-01-01T00:00:00Z',
            },
          ],
          models: [],
          has_more: false,
        });
      if (req.method === 'HEAD' || req.method === 'GET') return json({});
      return json({ error: { message: `mock: no such route ${p}`, type: 'not_found_error' } }, 404);
    }

    let body;
    try {
      body = JSON.parse(raw);
    } catch {
      return json(errorBody[api](400, 'mock: bad JSON'), 400);
    }
    const r = read[api](body, req.url);
    const aux = r.tools.length === 0;
    const inline = /<mock>([\s\S]*?)<\/mock>/.exec(r.prompt)?.[1];
    const when = Object.keys(table).find((key) => table[key].when?.every((text) => r.prompt.includes(text)));
    let name = /\[\[mock:([\w.-]+)\]\]/.exec(r.prompt)?.[1] ?? when ?? /\/s\/([\w.-]+)/.exec(p)?.[1] ?? 'default';
    let script = table[name];
    if (inline) {
      name = 'inline';
      try {
        script = JSON.parse(inline);
      } catch {
        script = JSON.parse(inline.replaceAll('\\"', '"').replaceAll('\\\\', '\\'));
      }
    } // opencode quotes its arguments
    // Errors and silences of a script hit every request of that agent's base URL, side calls too.
    const failing = (s) => s && (s.status || s.hang || s.drop);
    const i = Math.min(r.round, (script?.steps.length ?? 1) - 1);
    let step = script?.steps[i] ?? { text: `mock: no script named ${name}` };
    if (aux && (!failing(step) || step.times != null))
      step = {
        text:
          body.response_format ||
          body.text?.format ||
          body.generationConfig?.responseSchema ||
          body.generationConfig?.responseJsonSchema
            ? '{}'
            : 'ok',
      };
    const key = `${name}#${i}#${api}#${r.prompt}`; // "times" is counted per script, step, API and prompt
    let fail = false;
    if (step.status && !(aux && step.times != null)) {
      const k = failures.get(key) ?? 0;
      fail = step.times == null || k < step.times;
      if (fail) failures.set(key, k + 1);
    } // side calls do not use up "times"
    record({
      api,
      script: name,
      step: i,
      aux,
      stream: r.stream,
      model: r.model,
      status: fail ? step.status : 200,
      prompt: r.prompt.slice(0, 200),
      lastResult: r.lastResult.slice(0, 400),
      tools: r.tools.map((t) => (t.namespace ? t.namespace + '.' : '') + t.name),
      auth: !!(
        req.headers['x-api-key'] ||
        req.headers.authorization ||
        req.headers['x-goog-api-key'] ||
        url.searchParams.get('key')
      ),
      ua: req.headers['user-agent'],
    });

    if (step.delayMs) await sleep(step.delayMs);
    if (fail)
      return json(
        errorBody[api](step.status, `mock: scripted HTTP ${step.status}`),
        step.status,
        step.retryAfter != null ? { 'retry-after': String(step.retryAfter) } : {},
      );
    if (step.hang === 'headers') return; // the client must time out

    const past = r.round >= (script?.steps.length ?? 1);
    let text = (step.text ?? '').replaceAll('{{tool_result}}', () => r.lastResult.trim());
    const calls = past || aux ? [] : (step.tools ?? []).map((a) => toCall(a, r.tools, api));
    if (calls.includes(null)) {
      text = `mock: this agent offered no tool for ${JSON.stringify(step.tools[calls.indexOf(null)])}`;
      calls.length = 0;
    }
    if (!r.stream && step.hang) return;
    if (!r.stream && step.drop) return res.destroy();
    let first = true,
      halted = false;
    const head = () => {
      if (first) {
        first = false;
        res.writeHead(200, {
          'content-type': 'text/event-stream',
          'cache-control': 'no-cache',
          'request-id': id('req_'),
        });
      }
    };
    const out = {
      rid: id('r'),
      json,
      async raw(s) {
        if (halted) return;
        head();
        res.write(s);
        if (step.chunkDelayMs) await sleep(step.chunkDelayMs);
      },
      sse(o, ev) {
        return this.raw(`${ev ? `event: ${ev}\n` : ''}data: ${JSON.stringify(o)}\n\n`);
      },
      async checkpoint() {
        if (halted) return;
        if (step.hang === 'body') halted = true;
        if (step.drop) {
          halted = true;
          await sleep(50);
          res.destroy();
        }
      },
      end() {
        if (!halted) res.end();
      },
    };
    const usage = { input: 1000, output: 50, cached: 0, ...step.usage };
    await say[api](out, { r, text, thinking: step.thinking, calls, usage, stop: step.stop });
  });
  server.keepAliveTimeout = 5000;
  await new Promise((ok, no) => server.once('error', no).listen(port, '127.0.0.1', ok));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    port: server.address().port,
    requests,
    scripts: table,
    server,
    close: () =>
      new Promise((r) => {
        server.close(() => r());
        server.closeAllConnections();
      }),
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  const arg = (n, d) => {
    const i = process.argv.indexOf('--' + n);
    return i < 0 ? d : process.argv[i + 1];
  };
  const file = arg('scripts');
  const m = await startMockModel({
    port: Number(arg('port', 0)),
    scripts: file ? JSON.parse(fs.readFileSync(file, 'utf8')) : {},
    log: arg('log', null),
    bodies: arg('bodies', null),
  });
  console.log(JSON.stringify({ listening: m.url, pid: process.pid }));
  for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => m.close().then(() => process.exit(0)));
}
