/** What a person wrote: the changes in the file of a known task, and the task that a dropped file asks for. */
import { isDeepStrictEqual } from 'node:util';
import type { NewTask } from '../../../core/laws/messages.ts';
import {
  type Alternative,
  FALLBACK_TRIGGERS,
  isTaskId,
  type RetryPolicy,
  type Routing,
  type Task,
  type TaskPriority,
} from '../../../core/task.ts';
import type { TaskFile, TaskFrontmatter } from '../../../protocol/aof/index.ts';
import { stripControls } from '../../../protocol/text/clean.ts';
import { stemOf } from './paths.ts';
import { frontmatterOf, ownMetadata, RESERVED } from './text.ts';

/** The fields that differ; as the message `task.edit` takes them, but for the body. */
export interface Changes {
  readonly title?: string;
  readonly priority?: TaskPriority;
  readonly routing?: Partial<Routing>;
  readonly dependsOn?: readonly string[];
  readonly reviewRequired?: boolean;
  /** All of it, as it should be. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly body?: string;
}

interface Edit {
  readonly changes: Changes;
  /** The fields that are not a person's to change, and were changed; as paths (`metadata.attempts`). */
  readonly putBack: readonly string[];
}

/**
 * What was changed in a file since Baton wrote it. `base` is the task as the file showed it, or as near to it as is known; `isExact` says
 * which. What is empty is not written, so a field that is gone was emptied; title and priority are always written, so they stay. A file
 * that has no frontmatter any more says something about the body only.
 */
export function editOf(base: Task, body: string, file: TaskFile, isExact: boolean): Edit {
  const { frontmatter } = file;
  const newBody = file.body === body || file.body === wellFormed(body) ? {} : { body: file.body };
  if (Object.keys(frontmatter).length === 0) return { changes: newBody, putBack: [] };
  const { title, priority } = frontmatter;
  const routing = routingChange(base.routing, routingIn(frontmatter));
  const dependsOn = frontmatter.dependsOn ?? [];
  const review = reviewIn(frontmatter);
  const metadata = metadataChange(base, frontmatter);
  const changes: Changes = {
    ...(typeof title === 'string' && title !== base.title ? { title } : {}),
    ...(priority && priority !== base.priority ? { priority } : {}),
    ...(routing === null ? {} : { routing }),
    ...(isDeepStrictEqual(dependsOn, [...base.dependsOn]) ? {} : { dependsOn }),
    ...(review === null || review === base.reviewRequired ? {} : { reviewRequired: review }),
    ...(metadata === null ? {} : { metadata }),
    ...newBody,
  };
  return { changes, putBack: putBackIn(base, frontmatter, isExact) };
}

/** As a text comes back from a disk, where a lone surrogate has no place. */
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8');

const routingIn = ({ routing }: TaskFrontmatter): Routing => ({
  agent: routing?.agent ?? null,
  role: routing?.role ?? null,
  team: routing?.team ?? null,
  tags: routing?.tags ?? [],
});

function routingChange(was: Routing, is: Routing): Partial<Routing> | null {
  const changed = (Object.keys(is) as (keyof Routing)[]).filter((key) => !isDeepStrictEqual(is[key], was[key]));
  return changed.length === 0 ? null : Object.fromEntries(changed.map((key) => [key, is[key]]));
}

/** Null where it is neither true nor false. It stands in `metadata`; outside of it, it is understood. */
function reviewIn(frontmatter: TaskFrontmatter): boolean | null {
  const said = frontmatter.metadata?.['reviewRequired'] ?? frontmatter['reviewRequired'] ?? false;
  return typeof said === 'boolean' ? said : null;
}

const ROUTING_FIELDS: ReadonlySet<string> = new Set(['agent', 'role', 'team', 'tags'] satisfies (keyof Routing)[]);
/** What `frontmatterOf` writes, always or at times. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'externalId', 'title', 'status', 'priority', 'routing', 'dependsOn', 'parentId', 'session', 'lease'],
  ...['createdAt', 'updatedAt', 'lastTransitionAt', 'createdBy', 'metadata'],
]);

/** A person's own keys, and fields that a task does not have: rather kept in another place than dropped. */
const metadataIn = (frontmatter: TaskFrontmatter): [string, unknown][] => [
  ...ownMetadata(frontmatter.metadata ?? {}),
  ...others(frontmatter).filter(([key]) => hasRoom(frontmatter, key)),
];

const hasRoom = ({ metadata }: TaskFrontmatter, key: string): boolean =>
  !RESERVED.has(key) && !Object.hasOwn(metadata ?? {}, key);

const others = (frontmatter: TaskFrontmatter): [string, unknown][] => [
  ...Object.entries(frontmatter).filter(([key]) => !FIELDS.has(key)),
  ...Object.entries(frontmatter.routing ?? {})
    .filter(([key]) => !ROUTING_FIELDS.has(key))
    .map(([key, value]): [string, unknown] => [`routing.${key}`, value]),
];

function metadataChange(base: Task, frontmatter: TaskFrontmatter): Record<string, unknown> | null {
  const is = asJson(Object.fromEntries(metadataIn(frontmatter))) as Record<string, unknown>;
  const was = Object.fromEntries(ownMetadata(base.metadata));
  if (isDeepStrictEqual(is, asJson(was))) return null;
  const hidden = Object.entries(base.metadata).filter(([key]) => RESERVED.has(key));
  return Object.fromEntries([...hidden, ...Object.entries(is)]);
}

/** As the journal keeps it. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** These never change; all else that is Baton's does, and can be compared only with the record that the file shows. */
const FIXED = ['id', 'externalId', 'parentId', 'session', 'createdAt', 'createdBy'] as const;
const CHANGING = ['lease', 'updatedAt', 'lastTransitionAt'] as const;

function putBackIn(base: Task, frontmatter: TaskFrontmatter, isExact: boolean): string[] {
  const written = frontmatterOf(base) as Readonly<Record<string, unknown>>;
  const read = frontmatter as Readonly<Record<string, unknown>>;
  const differs = (key: string): boolean => !isDeepStrictEqual(asJson(read[key] ?? null), asJson(written[key] ?? null));
  const fields = [...FIXED, ...(isExact ? CHANGING : [])].filter(differs);
  const [mine, theirs] = [frontmatterOf(base).metadata ?? {}, frontmatter.metadata ?? {}];
  const keys = [...RESERVED].filter((key) => {
    if (key === 'reviewRequired') return reviewIn(frontmatter) === null;
    return isExact && !isDeepStrictEqual(asJson(theirs[key] ?? null), asJson(mine[key] ?? null));
  });
  const homeless = others(frontmatter)
    .map(([key]) => key)
    .filter((key) => key !== 'reviewRequired' && !hasRoom(frontmatter, key));
  return [...fields, ...keys.map((key) => `metadata.${key}`), ...homeless];
}

/** The longest title that is made of a text. */
const MOST_TITLE = 200;

/** The task that a file asks for. Its own id is kept where it has the form of one and nobody has it. */
export function newTaskOf(
  file: TaskFile,
  name: string,
  status: 'backlog' | 'ready',
  isFree: (id: string) => boolean,
): NewTask {
  const { frontmatter, body } = file;
  const id = [frontmatter.id, stemOf(name)].find((text) => typeof text === 'string' && isTaskId(text) && isFree(text));
  const externalId = frontmatter['externalId'];
  const metadata = asJson(Object.fromEntries(metadataIn(frontmatter))) as Record<string, unknown>;
  const retry = retryIn(frontmatter);
  const writes = writesIn(frontmatter);
  const title = frontmatter.title?.trim() ? frontmatter.title : titleOf(body, name);
  return {
    ...(id ? { id } : {}),
    ...(typeof externalId === 'string' && externalId !== '' ? { externalId } : {}),
    title,
    status,
    ...(frontmatter.priority ? { priority: frontmatter.priority } : {}),
    ...(frontmatter.routing ? { routing: routingIn(frontmatter) } : {}),
    ...(frontmatter.session ? { session: frontmatter.session } : {}),
    ...(frontmatter.parentId ? { parentId: frontmatter.parentId } : {}),
    ...(frontmatter.dependsOn?.length ? { dependsOn: frontmatter.dependsOn } : {}),
    ...(writes.length === 0 ? {} : { writes }),
    ...(retry === null ? {} : { retry }),
    ...(reviewIn(frontmatter) === true ? { reviewRequired: true } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(body === '' ? {} : { texts: { body } }),
  };
}

function retryIn({ metadata }: TaskFrontmatter): RetryPolicy | null {
  const said = metadata?.['retry'];
  if (said === null || typeof said !== 'object') return null;
  const { maxRetries, backoffSeconds, alternatives, stopOnCritical } = said as Record<string, unknown>;
  const isCount = (value: unknown): value is number =>
    typeof value === 'number' && Number.isFinite(value) && value >= 0;
  if (!isCount(maxRetries) || !Number.isInteger(maxRetries)) return null;
  if (!Array.isArray(backoffSeconds) || backoffSeconds.length === 0 || !backoffSeconds.every(isCount)) return null;
  return {
    ...{ maxRetries, backoffSeconds },
    ...(Array.isArray(alternatives) && alternatives.every(isAlternative) ? { alternatives } : {}),
    ...(stopOnCritical === true ? { stopOnCritical } : {}),
  };
}

function isAlternative(value: unknown): value is Alternative {
  if (value === null || typeof value !== 'object') return false;
  const { provider, model, trigger } = value as Record<string, unknown>;
  return (
    typeof provider === 'string' && typeof model === 'string' && FALLBACK_TRIGGERS.some((known) => known === trigger)
  );
}

function writesIn({ metadata }: TaskFrontmatter): readonly string[] {
  const said = metadata?.['writes'];
  return Array.isArray(said) && said.every((path) => typeof path === 'string') ? said : [];
}

const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?$/;

const MOST_LINE = 1_000;

/** The first heading, else the first line, else the file's name. */
function titleOf(body: string, name: string): string {
  let first = '';
  for (const whole of body.split('\n')) {
    // More than a title can hold; the pattern takes its time with a line of a million blanks.
    const line = whole.slice(0, MOST_LINE);
    const heading = oneLine(HEADING.exec(line)?.[1] ?? '');
    if (heading !== '') return heading;
    if (first === '') first = oneLine(line);
  }
  return first || oneLine(stemOf(name)) || name;
}

const oneLine = (text: string): string =>
  [...stripControls(text).replace(/\s+/g, ' ').trim()].slice(0, MOST_TITLE).join('').trimEnd();
