/**
 * A reply of the session language, said as a sentence (§2.5), and a command explained in one. Nothing is made up: what is said is in the reply,
 * or in the command it answers.
 */
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { Command } from '../protocol/command/command.ts';
import { readCommand } from '../protocol/command/decode.ts';
import type { CommandForm } from '../protocol/command/form.ts';
import type { ProjectCommand } from '../protocol/command/help.ts';
import { formOf, isBuiltIn } from '../protocol/command/table.ts';
import { stripControls } from '../protocol/text/clean.ts';

/** The reply to a command, both as they are written, in the words of a conversation. */
export function spoken(command: string, reply: string): string {
  const lines = stripControls(reply)
    .split('\n')
    .map((line) => line.replace(/^\s*→\s*/, '').trim())
    .filter((line) => line !== '');
  const asked = readCommand(command).command;
  const [first] = lines;
  // What was saved may look like anything, also like a list or like nothing; only an error is told from it.
  const isValue = asked?.name === 'STATE' && param(asked, 0) === 'load' && first !== undefined;
  if (isValue && first !== 'not_found' && !first.startsWith('#ERROR:')) return plain(asked, lines.join(' '));
  if (first === undefined || first === 'none') return nothing(asked);
  const error = /^#ERROR:([A-Z0-9_]+):(.*)$/.exec(first);
  if (error !== null) {
    const meant = lines.slice(1).filter(isBullet).map(bullet);
    const others = lines.slice(1).filter((line) => !isBullet(line));
    const could = meant.length === 0 ? [] : [sentence(`There is: ${meant.join('; ')}`)];
    return [failure(error[1] ?? '', error[2] ?? ''), ...could, ...others.map(sentence)].join(' ');
  }
  if (asked?.name === 'HELP') return lines.join('\n'); // usage is to be read, not to be told
  if (asked === null) return lines.map(sentence).join(' ');
  if (lines.every(isBullet)) return listed(asked, lines.map(bullet));
  // The reply itself may stand behind the steps that led to it (§13).
  const known = lines.map((line) => formSpoken(asked, line));
  const bullets = lines.filter(isBullet).map(bullet);
  const told = lines.flatMap((line, i) => (isBullet(line) ? [] : [known[i] ?? plain(asked, line)]));
  return [...told, ...(bullets.length > 0 ? [listed(asked, bullets)] : [])].join(' ');
}

/** The replies to several commands. */
export const spokenAll = (commands: readonly string[], replies: readonly string[]): string =>
  replies.map((reply, i) => spoken(commands[i] ?? '', reply)).join(commands.length > 1 ? '\n' : ' ');

const isBullet = (line: string): boolean => line.startsWith('•');
const bullet = (line: string): string => line.replace(/^•\s*/, '').trim();

const sentence = (text: string): string => {
  const said = text.trim();
  if (said === '') return '';
  // A name, a path or an id stays as it is written.
  const begins = /^[a-z][a-z']*(?=[ ,;:.]|$)/.test(said) ? said.charAt(0).toUpperCase() + said.slice(1) : said;
  return /[.!?…:]$/.test(begins) ? begins : `${begins}.`;
};

const param = (command: Command, i: number): string => command.params[i] ?? '';

/** `max_limit_100` is read as words; a path or a sentence stays. */
const words = (text: string): string => (/^[a-z0-9]+(?:_[a-z0-9]+)+$/.test(text) ? text.replaceAll('_', ' ') : text);

function failure(code: string, description: string): string {
  const meaning = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].meaning : 'an error';
  const said = words(description.trim());
  return sentence(
    said === '' ? `That did not work (${code}, ${meaning})` : `That did not work (${code}, ${meaning}): ${said}`,
  );
}

function nothing(command: Command | null): string {
  if (command === null) return 'There is nothing to say.';
  const what = {
    STATE: 'Nothing is saved.',
    NEXT: 'Nothing comes next.',
    CHECKPOINT: 'There are none.',
    CONTEXT: 'There are none.',
  }[command.name];
  if (command.name === 'STATE' && param(command, 0) !== 'list') return 'There is nothing to say.';
  if (command.name === 'REPORT') return `There is nothing to report on ${param(command, 1)}.`;
  return what ?? 'There is nothing to say.';
}

const MORE = /^\+(\d+) more\b(.*)$/;

/** One item is a sentence; several are told in a row. */
function listed(command: Command, items: readonly string[]): string {
  const more = MORE.exec(items.at(-1) ?? '');
  const named = more === null ? items : items.slice(0, -1);
  const rest = more === null ? '' : `, and ${more[1]} more${(more[2] ?? '').replace(/^ → (.+)$/, ' (say $1)')}`;
  const lead = leadOf(command);
  if (lead === '' && named.length === 1) return sentence((named[0] ?? '') + rest);
  return sentence(`${lead === '' ? '' : `${lead}: `}${named.join('; ')}${rest}`);
}

/** What a list is a list of, from the command that asked for it. */
function leadOf(command: Command): string {
  const [first, second] = [param(command, 0), param(command, 1)];
  switch (command.name) {
    case 'STATE':
      return 'Saved';
    case 'REPORT':
      return `${second.charAt(0).toUpperCase()}${second.slice(1)} of ${first}`;
    case 'NEXT':
      return 'Next';
    case 'CHECKPOINT':
      return first === 'list' ? 'Checkpoints' : `Changes since ${second}`;
    case 'CONTEXT':
      return 'Context files';
    case 'VERSION':
      return 'Features';
    case 'ASK':
      return `On ${first}`;
    case 'HEALTH':
      return first === 'context' ? 'Context' : 'Session';
    default:
      return '';
  }
}

type Telling = (command: Command, value: string) => string;

/** The quoted forms of §3 and §12, by command: what stands before the colon, or the whole reply. */
const FORMS: Readonly<Record<string, Readonly<Record<string, Telling>>>> = {
  STATE: {
    'saved:': (_, key) => `I saved it as ${key}.`,
    not_found: (command) => `Nothing is saved as ${param(command, 1)}.`,
    cleared: () => 'Everything that was saved is cleared.',
    nothing_saved: () => 'Nothing was saved, so nothing is cleared.',
  },
  LOCK: {
    locked: (command) =>
      `${param(command, 0)} is locked. Locks are advisory: they hold off other locks, not changes to the file.`,
    'busy:': (command, owner) => `${param(command, 0)} is busy: ${owner} holds it.`,
  },
  UNLOCK: {
    unlocked: (command) => `${param(command, 0)} is unlocked.`,
    not_owner: (command) => `The lock on ${param(command, 0)} is not yours.`,
  },
  WAIT: {
    ready: (command) => `${param(command, 0)} is ready.`,
    timeout: (command) => `${param(command, 0)} did not come in time.`,
  },
  SIGNAL: { 'signaled:': (command, count) => `I signaled ${param(command, 0)} to ${count}.` },
  BROADCAST: { 'sent:': (command, count) => `I sent it to ${count} on ${param(command, 0)}.` },
  DIRECT: { 'sent:': (command, count) => `I sent it to ${param(command, 0)} (${count}).` },
  DELEGATE: { 'ack:': (command, task) => `I gave that to ${param(command, 0)}, as ${task}.` },
  RETRY: { 'ack:': (_, task) => `${task} is tried again.` },
  ESCALATE: { 'ack:': (_, item) => `It is in the inbox as ${item}.` },
  DEPENDS: { 'ack:': (_, waits) => sentence(waits) },
  CHECKPOINT: { 'checkpoint_id:': (_, id) => `The checkpoint is made: ${id}.` },
  ROLLBACK: { 'rolled_back:': (_, id) => `We are back at ${id}.` },
  CONTEXT: {
    'exported:': (_, items) => sentence(`I exported ${items}`),
    'imported:': (_, items) => sentence(`I imported ${items}`),
    'merged:': (_, items) => sentence(`I merged ${items}`),
    'updated:': (_, items) => sentence(`I updated ${items}`),
    'file:': (_, file) => `The file is ${file}`,
    valid: (command) => `${param(command, 1)} is valid.`,
    'valid:': (command, of) => sentence(`${param(command, 1)} is valid: ${of}`),
  },
  VERSION: {
    compatible: (command) => `${param(command, 1)} is compatible.`,
    incompatible: (command) => `${param(command, 1)} is not compatible.`,
  },
  SUPPORTS: {
    true: (command) => `Yes, ${words(param(command, 0))} is supported.`,
    false: (command) => `No, ${words(param(command, 0))} is not supported.`,
  },
};

/** Null where the line is none of the command's quoted forms. */
function formSpoken(command: Command, line: string): string | null {
  const forms = Object.hasOwn(FORMS, command.name) ? FORMS[command.name] : undefined;
  if (forms === undefined) return null;
  if (Object.hasOwn(forms, line)) return forms[line]?.(command, '') ?? null;
  const colon = line.indexOf(':') + 1;
  const head = line.slice(0, colon);
  const value = line.slice(colon).trim();
  return colon > 0 && value !== '' && Object.hasOwn(forms, head) ? (forms[head]?.(command, value) ?? null) : null;
}

function plain(command: Command, line: string): string {
  if (command.name === 'STATE' && param(command, 0) === 'load')
    return `${param(command, 1)} is ${line}${/[.!?…]$/.test(line) ? '' : '.'}`;
  if (command.name === 'VERSION' && command.params.length === 0) return sentence(`The protocol is ${line}`);
  const [, head = '', value = ''] = /^([a-z]+(?:_[a-z]+)*):(?!\/)\s*(\S.*)$/.exec(line) ?? [];
  return sentence(head === '' ? line : `${words(head)}: ${value}`);
}

/** One sentence on what a command does, from the table. */
export function explain(command: string, project: readonly ProjectCommand[] = []): string {
  const read = readCommand(command).command;
  if (read === null) return 'That is not a command of the session language.';
  const form = isBuiltIn(read.name) ? formOf(read.name, read.params) : null;
  if (form !== null) return sentence(`${headOf(read, form)} means: ${form.does}${detail(read, form)}`);
  if (isBuiltIn(read.name)) return `#${read.name} needs more than that to mean something.`;
  const own = project.find(({ name }) => name === read.name);
  return own === undefined
    ? `#${read.name} is not a command that is known here.`
    : sentence(`#${own.name} means: ${own.does}`);
}

const headOf = ({ name }: Command, form: CommandForm): string =>
  form.sub === null ? `#${name}` : `#${name}:${form.sub}`;

/** `resource src/auth.js, timeout 600`. */
function detail({ params, persistent, limit }: Command, form: CommandForm): string {
  const given = form.sub === null ? params : params.slice(1);
  const named = given.map((value, i) => {
    const name = form.params[i]?.name.split('|')[0];
    return name === undefined ? oneLine(value) : `${name === 'P0..P3' ? 'priority' : name} ${oneLine(value)}`;
  });
  if (persistent) named.push('kept in exports');
  if (limit !== null) named.push(typeof limit === 'number' ? `at most ${limit} tokens` : `${limit} answer`);
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

const oneLine = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();
