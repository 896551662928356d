/** `#STATE`: what a session remembers by key (§6). */
import { type Call, failed, form, list, type Said } from '../call.ts';
import { replyTo } from '../refusals.ts';

export async function state(call: Call): Promise<Said> {
  const { params, session, speaker, store, command } = call;
  const [sub, key = '', value = ''] = params;
  switch (sub) {
    case 'save':
      return replyTo(call, { type: 'session.save', session, key, value, persistent: command.persistent, speaker });
    case 'load': {
      const kept = (await store.session(session))?.state;
      return form(kept !== undefined && Object.hasOwn(kept, key) ? (kept[key]?.value ?? '') : 'not_found');
    }
    case 'list':
      return list(Object.keys((await store.session(session))?.state ?? {}));
    case 'clear':
      return replyTo(call, { type: 'session.clear', session, speaker });
    default:
      return failed('E002', `unknown_form ${sub ?? ''}`);
  }
}
