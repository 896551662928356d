/** Any program as an agent: the prompt on its standard input, whatever it says on its standard output, and its exit code. */
import { StringDecoder } from 'node:string_decoder';
import type { ProgramAdapter } from './adapter.ts';
import { envOf, passed, programOf, typed } from './launching.ts';
import { exitWords } from './stream.ts';
import { tailOf } from './tail.ts';

/** The longest text of one sign. */
const MAX_TEXT = 64 * 1024;

export const command: ProgramAdapter = {
  way: 'program',
  kind: 'command',
  provider: 'OTHER',
  program: null,
  goesOn: false,
  hasEnd: false,
  usage: 'never',
  streamsDollars: false,

  launch(request) {
    return {
      command: [...programOf(request, ''), ...request.agent.args],
      env: { ...(request.model === null ? {} : { BATON_MODEL: request.model }), ...envOf(request) },
      passEnv: passed(request, []),
      stdin: typed(request),
      files: [],
      state: [],
      endpoints: [],
      enforces: [],
    };
  },

  reader({ emit }) {
    const decoder = new StringDecoder('utf8');
    const tail = tailOf();
    const say = (text: string): void => {
      for (let from = 0; from < text.length; ) {
        let to = Math.min(text.length, from + MAX_TEXT);
        // Not between the two halves of a character.
        if (to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))) to--;
        emit({ kind: 'text', text: text.slice(from, to), whole: false });
        from = to;
      }
    };
    return {
      stdout(chunk) {
        const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        if (text === '') emit({ kind: 'alive' });
        else say(text);
      },
      stderr(chunk) {
        tail.push(chunk);
        emit({ kind: 'alive' });
      },
      end(exit) {
        say(decoder.end());
        if (exit.code === 0) return;
        const said = tail.text();
        const message = `the program ${exitWords(exit)}${said === '' ? '' : `; the last it said: ${said}`}`;
        emit({ kind: 'error', code: 'E_PROCESS_CRASH', message });
      },
    };
  },
};
