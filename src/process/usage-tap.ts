/**
 * Reads along what a model answers over plain HTTP, and counts the tokens that it says it used. Nothing is held back or changed; what
 * cannot be read (compressed, not JSON) is not counted.
 */

export type OnUsage = (tokensInput: number, tokensOutput: number) => void;

/** Longer answers than this have their count in a stream of lines, or not at all. */
const LONGEST_TEXT = 8 * 1024 * 1024;

/** Counts in the body of one answer. Counts within an answer only grow, so each says by how much the last was exceeded. */
export function usageReader(type: string, onUsage: OnUsage): { write(chunk: Buffer): void; end(): void } {
  const isStream = /event-stream|ndjson|jsonl/.test(type);
  const decoder = new TextDecoder();
  let text = '';
  let [input, output] = [0, 0];
  const take = (json: string): void => {
    if (!/usage/i.test(json)) return;
    const found = usageOf(json);
    if (found === null || (found.input <= input && found.output <= output)) return;
    onUsage(Math.max(0, found.input - input), Math.max(0, found.output - output));
    input = Math.max(input, found.input);
    output = Math.max(output, found.output);
  };
  return {
    write(chunk) {
      if (text.length > LONGEST_TEXT) return;
      text += decoder.decode(chunk, { stream: true });
      if (!isStream) return;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) take(line.replace(/^data:/, '').trim());
    },
    end() {
      if (text.length <= LONGEST_TEXT) take(text.replace(/^data:/, '').trim());
      text = '';
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const count = (...values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === 'number' && value > 0 ? value : 0), 0);

/** The names of the APIs: OpenAI responses and chat, Anthropic messages, Gemini. */
function usageOf(json: string): { readonly input: number; readonly output: number } | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    // A line that is no JSON (an event's name, `[DONE]`) has no count.
    return null;
  }
  // Gemini answers with an array where it is not asked for a stream of events.
  const last = Array.isArray(parsed) ? parsed.at(-1) : parsed;
  const { usage, response, message, usageMetadata } = fields(last);
  const meta = fields(usageMetadata ?? fields(response)['usageMetadata']);
  const said = fields(usage ?? fields(response)['usage'] ?? fields(message)['usage']);
  return {
    input:
      count(said['input_tokens'], said['cache_read_input_tokens'], said['cache_creation_input_tokens']) ||
      count(said['prompt_tokens']) ||
      count(meta['promptTokenCount'], meta['toolUsePromptTokenCount']),
    output:
      count(said['output_tokens']) ||
      count(said['completion_tokens']) ||
      count(meta['candidatesTokenCount'], meta['thoughtsTokenCount']),
  };
}

/** Reads the answers in the bytes that come down a connection, one after another, and the counts in them. */
export function answersReader(onUsage: OnUsage): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  /** How the body goes on: bytes that are left, a chunk's head to come, all there is; or null between two answers. */
  let body: { reader: ReturnType<typeof usageReader>; left: number; isChunked: boolean } | null = null;
  let isLost = false;

  const finish = (): void => {
    body?.reader.end();
    body = null;
  };
  /** Reads one piece; false where more is needed. */
  const step = (): boolean => {
    if (body === null) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return false;
      const head = rest.toString('latin1', 0, end).toLowerCase();
      rest = rest.subarray(end + 4);
      body = bodyAfter(head, onUsage);
      // What follows is no HTTP any more (an upgrade).
      if (head.startsWith('http/1.1 101')) isLost = true;
      if (body !== null && body.left === 0 && !body.isChunked) finish();
      return true;
    }
    if (body.left > 0) {
      if (rest.length === 0) return false;
      const piece = rest.subarray(0, Math.min(body.left, rest.length));
      body.reader.write(piece);
      body.left -= piece.length;
      rest = rest.subarray(piece.length);
      if (body.left === 0 && !body.isChunked) finish();
      return true;
    }
    const end = rest.indexOf('\r\n');
    if (end < 0) return false;
    const line = rest.toString('latin1', 0, end);
    rest = rest.subarray(end + 2);
    if (line === '') return true;
    body.left = Number.parseInt(line, 16);
    if (Number.isNaN(body.left)) isLost = true;
    else if (body.left === 0) {
      rest = rest.subarray(rest.indexOf('\r\n') === 0 ? 2 : 0);
      finish();
    }
    return true;
  };
  return (chunk) => {
    if (isLost) return;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (!isLost && step());
    if (body === null && rest.length > LONGEST_TEXT) isLost = true;
    if (isLost) rest = Buffer.alloc(0);
  };
}

function bodyAfter(
  head: string,
  onUsage: OnUsage,
): { reader: ReturnType<typeof usageReader>; left: number; isChunked: boolean } | null {
  const header = (name: string): string => new RegExp(`\r\n${name}:[ \t]*([^\r]*)`).exec(head)?.[1]?.trim() ?? '';
  const isPlain = ['', 'identity'].includes(header('content-encoding'));
  const status = Number(head.split(' ', 2)[1]);
  if (status < 200 || status === 204 || status === 304) return null;
  const reader = usageReader(isPlain ? header('content-type') : '', isPlain ? onUsage : () => {});
  const isChunked = header('transfer-encoding').includes('chunked');
  const length = header('content-length');
  // Without a length it goes on until the connection ends.
  return { reader, isChunked, left: isChunked ? 0 : length === '' ? Number.POSITIVE_INFINITY : Number(length) };
}
