// An ACP agent that behaves badly in the way that its first argument names.
import { createInterface } from 'node:readline';

const how = process.argv[2];
const print = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (words) => ({
  method: 'session/update',
  params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } } },
});

const ANSWERS = {
  initialize: () => ({ protocolVersion: how === 'version' ? 2 : 1, agentCapabilities: {} }),
  'session/new': () => (how === 'no-session' ? {} : { sessionId: 's' }),
};

if (how === 'dies') {
  process.stderr.write('cannot find my settings\n');
  process.exit(7);
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (how === 'silent') return;
  if (method === 'session/prompt') return prompted(id);
  if (how === 'login' && method === 'session/new') {
    return print({ id, error: { code: -32000, message: 'Authentication required' } });
  }
  print({ id, result: ANSWERS[method]?.() ?? {} });
});

function prompted(id) {
  switch (how) {
    case 'crashes':
      print(text('half a sen'));
      process.stderr.write('out of memory\n', () => process.kill(process.pid, 'SIGKILL'));
      return;
    case 'garbage':
      process.stdout.write(
        'hello\n\u0000\u001b[31m\n[1,2]\n{"id":99,"result":1}\n{"jsonrpc":"2.0","method":5}\n"text"\nnull\n{"id":{}}\n{\n',
      );
      process.stdout.write(Buffer.from([0xff, 0xfe, 10]));
      process.stdout.write(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}\n`);
      print({ method: 'session/update', params: { update: { sessionUpdate: 'new_kind_of_update' } } });
      print({ method: 'session/update', params: null });
      print(text('still here'));
      return print({ id, result: { stopReason: 'end_turn' } });
    case 'deep': {
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
      process.stdout.write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"boom","data":${deep}}}\n`);
      return;
    }
    case 'long-line':
      process.stdout.write(`{"x":"${'x'.repeat(11 * 1024 * 1024)}"}\n`);
      return print({ id, result: { stopReason: 'end_turn' } });
    case 'floods': {
      const line = `${JSON.stringify({ jsonrpc: '2.0', ...text('0123456789'.repeat(10)) })}\n`;
      for (let i = 0; i < 200; i++) process.stdout.write(line.repeat(500));
      print(text('last words'));
      return print({ id, result: { stopReason: 'end_turn' } });
    }
    // The answer, and gone before anybody could have read it.
    case 'hurries':
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn' } })}`, () =>
        process.exit(0),
      );
      return;
    case 'broke':
      return print({
        id,
        error: { code: -32603, message: 'Internal error', data: { details: 'API Error: 529 overloaded' } },
      });
  }
}
