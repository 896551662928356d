// An ACP agent on the official SDK. The prompt is its script: a JSON list of steps. What it is allowed to do, it does.
import { writeFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';

const { session: client } = methods.client;
let calls = 0;

const OPTIONS = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];

async function play(step, sessionId, ctx) {
  const update = (fields) => ctx.notify(client.update, { sessionId, update: fields });
  const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  if (step.say !== undefined) await say(step.say);
  if (step.update !== undefined) await update(step.update);
  if (step.error !== undefined) throw new RequestError(step.error.code, step.error.message);
  if (step.request !== undefined) {
    await ctx.request(step.request, { sessionId, path: '/etc/hosts' }).then(
      () => say(`${step.request} worked `),
      (error) => say(`${step.request} gave ${error.code} `),
    );
  }
  if (step.ask !== undefined) {
    const toolCall = { toolCallId: `call-${++calls}`, title: 'a tool', ...step.ask };
    await update({ sessionUpdate: 'tool_call', ...toolCall });
    const options = step.options ?? OPTIONS;
    const { outcome } = await ctx.request(client.requestPermission, { sessionId, toolCall, options });
    const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'yes';
    await update({
      sessionUpdate: 'tool_call_update',
      toolCallId: toolCall.toolCallId,
      status: isAllowed ? 'completed' : 'failed',
    });
    if (isAllowed && step.write !== undefined) await writeFile(step.write, 'written\n');
    await say(`${outcome.optionId ?? outcome.outcome} `);
  }
}

agent({ name: 'polite' })
  .onRequest(methods.agent.initialize, ({ params }) => {
    process.stderr.write(`${JSON.stringify(params.clientCapabilities)}\n`);
    return {
      protocolVersion: 1,
      agentCapabilities: { loadSession: process.argv.includes('--loads') },
      authMethods: [],
    };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (params.mcpServers.length > 0) throw RequestError.invalidParams();
    return {
      sessionId: 'session-1',
      modes: {
        currentModeId: 'yolo',
        availableModes: [
          { id: 'yolo', name: 'Yolo' },
          { id: 'default', name: 'Default' },
        ],
      },
      configOptions: [
        {
          id: 'which-model',
          name: 'Model',
          category: 'model',
          type: 'select',
          currentValue: 'small',
          options: [
            { value: 'small', name: 'Small' },
            { value: 'large', name: 'Large' },
          ],
        },
      ],
    };
  })
  .onRequest(methods.agent.session.load, async ({ params, client: ctx }) => {
    const content = { type: 'text', text: 'from long ago' };
    await ctx.notify(client.update, {
      sessionId: params.sessionId,
      update: { sessionUpdate: 'agent_message_chunk', content },
    });
    return {};
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    process.stderr.write(`mode ${params.modeId}\n`);
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    if (params.configId !== 'which-model' || params.value !== 'large') throw RequestError.invalidParams();
    return { configOptions: [] };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client: ctx }) => {
    let stopReason = 'end_turn';
    for (const step of JSON.parse(params.prompt[0].text)) {
      await play(step, params.sessionId, ctx);
      stopReason = step.stop ?? stopReason;
    }
    return { stopReason };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
