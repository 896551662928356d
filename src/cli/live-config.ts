/** The settings of a long-running process. A changed `config.yaml` takes effect at once; a broken one is reported and changes nothing. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FILE, type Config, DEFAULT_CONFIG } from '../core/config.ts';
import { messageOf } from '../core/errors.ts';
import { readConfig } from './config-file.ts';

/** Each look costs one call of the file system, so the file is looked at no more often than this. */
const LOOK_MS = 100;

/** One object whose sections are always those in force. Throws where the file is broken at the start. */
export function followConfig(dir: string, warn: (text: string) => void): Config {
  const file = join(dir, CONFIG_FILE);
  let stamp = stampOf(file);
  let current = readConfig(dir);
  let lookedAt = performance.now();

  const look = (): Config => {
    if (performance.now() - lookedAt < LOOK_MS) return current;
    lookedAt = performance.now();
    const now = stampOf(file);
    if (now === stamp) return current;
    stamp = now;
    try {
      current = readConfig(dir);
      warn(`${CONFIG_FILE} has changed: its settings are in force from now on`);
    } catch (cause) {
      warn(`${CONFIG_FILE} has changed and is not followed: ${messageOf(cause)}; the settings before it stay in force`);
    }
    return current;
  };

  const live = {} as Config;
  for (const section of Object.keys(DEFAULT_CONFIG) as (keyof Config)[])
    Object.defineProperty(live, section, { enumerable: true, get: () => look()[section] });
  return live;
}

/** Tells one state of the file from another; empty where it is not there. */
function stampOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
}
