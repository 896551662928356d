/** Reads `config.yaml` of a data folder. */
import { join } from 'node:path';
import { CONFIG_FILE, type Config, configOf, DEFAULT_CONFIG } from '../core/config.ts';
import { BatonError, messageOf } from '../core/errors.ts';
import { readIfThereSync } from '../process/files.ts';
import { readYaml } from '../protocol/text/yaml.ts';
import { checkProjectCommands } from '../session/project-commands.ts';

/** The settings in force: those of the file, and the defaults where there is none. */
export function readConfig(dir: string): Config {
  const text = readIfThere(join(dir, CONFIG_FILE));
  if (text === null) return DEFAULT_CONFIG;
  const yaml = readYaml(text.replace(/^\ufeff/, ''));
  if (!yaml.ok) throw new BatonError('E_CONFIG', `${CONFIG_FILE} is not readable as YAML: ${yaml.reason}`);
  const config = configOf(yaml.value);
  checkProjectCommands(config);
  return config;
}

/** One that cannot be read is told with its path. */
export function readIfThere(path: string): string | null {
  try {
    return readIfThereSync(path);
  } catch (cause) {
    throw new BatonError('E_CONFIG', `${path} cannot be read: ${messageOf(cause)}`);
  }
}
