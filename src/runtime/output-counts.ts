/** What a run printed and what of it was handed to its parent, in characters and tokens. */
import { join } from 'node:path';
import type { Host } from './host.ts';
import { tokensOf, tokensOfFiles } from './tokens.ts';
import { failureOf } from './work.ts';

interface Printed {
  readonly bytes: number;
  readonly chars: number;
  /** Where the logs are. */
  readonly folder: string;
}

interface OutputCounts {
  readonly produced: number;
  readonly produced_chars: number;
  /** Null where the log could not be read. */
  readonly produced_tokens: number | null;
  readonly delivered: number;
  readonly delivered_tokens: number;
  readonly estimated: boolean;
}

export async function countOutput(
  { countTokens, warn }: Pick<Host, 'countTokens' | 'warn'>,
  { bytes, chars, folder }: Printed,
  block: string,
): Promise<OutputCounts> {
  const delivered = tokensOf(block, countTokens);
  const common = {
    produced: bytes,
    produced_chars: chars,
    delivered: block.length,
    delivered_tokens: delivered.tokens,
  };
  if (bytes === 0) return { ...common, produced_tokens: 0, estimated: false };
  try {
    const { tokens, estimated } = await tokensOfFiles([join(folder, 'out.log'), join(folder, 'err.log')], countTokens);
    return { ...common, produced_tokens: tokens, estimated };
  } catch (cause) {
    // How much it was must not keep anybody from what it says.
    warn(`the tokens of ${folder} could not be counted: ${failureOf(cause).message}`);
    return { ...common, produced_tokens: null, estimated: false };
  }
}
