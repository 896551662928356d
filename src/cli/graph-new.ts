/** `baton graph new`: a node to fill in. */
import { nearest } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import { isoTime } from '../core/time.ts';
import { fieldsOfType, knownTypes, templateOf } from '../protocol/output/templates.ts';
import { readConfig } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';

export function newNode(type: string | undefined, globals: Globals): void {
  const { node_types: own } = readConfig(dataFolder(globals));
  const types = knownTypes(own);
  if (type === undefined) {
    if (globals.json) printJson(types);
    else print(types.map((name) => `${name.padEnd(18)}${(fieldsOfType(name, own) ?? []).join(', ')}`).join('\n'));
    return;
  }
  // A type is found in any case, as people type it.
  const name = types.find((known) => known.toLowerCase() === type.toLowerCase());
  if (name === undefined) {
    const sentence = `there is no node type ${JSON.stringify(type)}; the nearest known one is ${nearest(type, types)}`;
    throw new BatonError('E_NOT_FOUND', sentence, 'baton graph new lists them; node_types in config.yaml adds to them');
  }
  const fields = fieldsOfType(name, own) ?? [];
  // The document's examples have whole seconds.
  const now = `${isoTime(Date.now()).slice(0, 19)}Z`;
  const template = templateOf(name, fields, now);
  if (globals.json) printJson({ type: name, fields, template });
  else print(template);
}
