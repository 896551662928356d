/** `baton schema`: the JSON Schema of a message type. */
import { BatonError } from '../core/errors.ts';
import { jsonSchema, schemaNames } from '../protocol/schemas.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';

export function schema(name: string | undefined, { json }: Globals): void {
  if (name === undefined) {
    if (json) printJson(schemaNames());
    else print(schemaNames().join('\n'));
    return;
  }
  const found = jsonSchema(name);
  if (found === null) {
    const near = schemaNames().find((known) => known.toLowerCase() === name.toLowerCase());
    const hint = near === undefined ? 'baton schema lists the message types' : `did you mean ${near}?`;
    throw new BatonError('E_NOT_FOUND', `there is no message type ${name}`, hint);
  }
  if (json) printJson(found);
  else print(JSON.stringify(found, null, 2));
}
