/**
 * What must hold before anybody builds upon a node: the document's checklist, and what Baton knows beside it (stale, an open question). Every gap
 * is told, so that whoever made the node can mend all of it at once.
 */
import type { Config } from '../core/config.ts';
import { isFields } from '../core/fields.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Node } from '../core/node.ts';
import type { Question } from '../core/question.ts';
import type { Store, WholeNode } from '../core/store.ts';
import { openQuestions } from './open-questions.ts';

/** A node as whoever loads it sees it, from the graph or from a report that is not applied yet. */
export type Loadable = Pick<
  WholeNode,
  'id' | 'type' | 'session' | 'createdBy' | 'domain' | 'confidence' | 'ready' | 'stale' | 'approval' | 'document'
> &
  Partial<Pick<Node, 'task'>>;

interface LoadRules {
  /** The fields of its data that have to be there. */
  readonly required: readonly string[];
  readonly config: Config;
  /** The open question about it; nobody builds upon it before that is answered. */
  readonly open?: Question | undefined;
  /** A person is going to be asked about it, so that how sure it is stands in nobody's way now. */
  readonly isAsked?: boolean;
}

export const dataOf = ({ document }: Pick<Loadable, 'document'>): Readonly<Record<string, unknown>> =>
  isFields(document['data']) ? document['data'] : {};

/** The least confidence that is loaded, by domain. */
const refuseBelow = ({ confidence }: Config, domain: string | null): number =>
  (domain !== null && Object.hasOwn(confidence.domains, domain)
    ? confidence.domains[domain]?.refuse_below
    : undefined) ?? confidence.refuse_below;

/** The least confidence that is not asked about, as the law takes it. */
export function escalation({ confidence }: Config): { below: number; domains: Record<string, number> } {
  const domains = Object.entries(confidence.domains).flatMap(([name, { escalate_below: below }]) =>
    below === undefined ? [] : [[name, below] as const],
  );
  return { below: confidence.escalate_below, domains: Object.fromEntries(domains) };
}

/** In the checklist's order; none means that it may be used. */
export function gapsOf(node: Loadable, { required, config, open, isAsked = false }: LoadRules): string[] {
  const gaps: string[] = [];
  const data = dataOf(node);
  for (const field of required) {
    if (!Object.hasOwn(data, field)) gaps.push(`data.${field} is required and is not there`);
    else if (data[field] === null) gaps.push(`data.${field} is required and is null`);
  }
  const below = refuseBelow(config, node.domain);
  if (!isAsked && node.confidence < below && node.approval !== 'approved') {
    gaps.push(`expected a confidence of at least ${below}, got ${node.confidence}`);
  }
  if (!isAsked && !node.ready) gaps.push('expected handoff.ready_for_next true, got false');
  if (!isAsked && (node.approval === 'rejected' || node.approval === 'changes_requested')) {
    gaps.push(`a person said ${node.approval.replace('_', ' ')} to it`);
  }
  if (node.stale !== null) gaps.push(`it is stale: ${node.stale.because}`);
  if (open !== undefined) gaps.push(`${open.id} is open about it: ${open.question}`);
  return gaps;
}

export const notLoadable = (id: string, gaps: readonly string[]): Refusal => ({
  code: 'E_NOT_LOADABLE',
  message: `${id} is not to be built upon yet: ${gaps.join('; ')}`,
  hint: gaps.some((gap) => /^ask-\d/.test(gap)) ? 'a person answers it: baton inbox' : null,
});

export const noNode = (id: string): Refusal => ({
  code: 'E_NOT_FOUND',
  message: `there is no node ${id} in the graph`,
  hint: 'see: baton graph list',
});

/** The open question about a node; undefined where there is none. */
export async function openAbout(store: Pick<Store, 'questions' | 'find'>, id: string): Promise<Question | undefined> {
  return (await openQuestions(store)).find(({ about, node }) => about === id || node === id);
}

/** A node of the store, as far as the checklist lets it through. */
export async function loadNode(
  { store, config }: { readonly store: Store; readonly config: Config },
  id: string,
  required: readonly string[] = [],
): Promise<{ readonly node: WholeNode } | { readonly refusal: Refusal }> {
  const node = await store.node(id);
  if (node === undefined) return { refusal: noNode(id) };
  const gaps = gapsOf(node, { required, config, open: await openAbout(store, id) });
  return gaps.length === 0 ? { node } : { refusal: notLoadable(id, gaps) };
}
