/** `baton graph bridge`: many nodes into one summary node. What is chosen and how it is put together is not decided here (`core/bridge.ts`, `protocol/output/summary.ts`). */

import { pick, type Scored, sharedConfidence, whyLeftOut } from '../core/bridge.ts';
import { BatonError } from '../core/errors.ts';
import { isFields } from '../core/fields.ts';
import { nodeId } from '../core/node.ts';
import { nodeJson } from '../core/node-json.ts';
import type { Question } from '../core/question.ts';
import type { Store, StoredRecord, WholeNode } from '../core/store.ts';
import { DEFAULT_SESSION } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { encodeGraphUpdate, encodeOutput } from '../protocol/output/encode.ts';
import { graphUpdateOf } from '../protocol/output/graph.ts';
import { snakeCase } from '../protocol/output/node-words.ts';
import { isPascalCase } from '../protocol/output/registry.ts';
import { type Prose, type Source, type Summary, type SummaryRequest, summarise } from '../protocol/output/summary.ts';
import { fieldsOfType } from '../protocol/output/templates.ts';
import { nextStageOf } from '../protocol/output/type-defaults.ts';
import type { Sender } from '../runtime/doors.ts';
import { judgeClaims, openHost } from '../runtime/index.ts';
import { escalation } from '../runtime/loading.ts';
import { openQuestions } from '../runtime/open-questions.ts';
import { actorOf } from './caller.ts';
import { readConfig } from './config-file.ts';
import type { InSession } from './globals.ts';
import { refuse } from './graph-add.ts';
import { proseBy } from './graph-prose.ts';
import { dataOf } from './graph-text.ts';
import { note, print, printJson, Refused } from './io.ts';
import { callingRun, ownSession } from './seen.ts';
import { overSocket } from './send.ts';
import { oneLine } from './text.ts';
import { countTokens } from './tokens.ts';
import { ask, reading } from './with-store.ts';

interface Options extends InSession {
  readonly type: readonly string[];
  readonly tokens?: number;
  readonly as: string;
  readonly agent?: string;
  readonly topic?: string;
  readonly next?: string;
}

export async function bridge(options: Options): Promise<void> {
  const { type: types, as, topic = null } = options;
  if (types.length === 0) {
    throw new BatonError(
      'E_USAGE',
      'expected at least one --type, got none',
      'try: baton graph bridge --type ADR --type Specification',
    );
  }
  if (!isPascalCase(as)) {
    throw new BatonError('E_USAGE', `expected a node type in PascalCase with --as, got ${JSON.stringify(as)}`);
  }
  await reading(options, async (store, dir) => {
    const config = readConfig(dir);
    const run = await callingRun(store, dir);
    const session = run === null ? await personsSession(store, options.session) : ownSession(run.task, options.session);
    const { nodes, neighbours } = await chosen(store, types, as, session);
    const now = isoTime(Date.now());
    const sources = nodes.map(sourceOf);
    const place = session ?? sharedSession(nodes);
    const agent = options.agent ?? config.bridge.agent;
    const request: SummaryRequest = {
      type: as,
      fields: fieldsOfType(as, config.node_types) ?? ['summary'],
      id: await freeId(
        store,
        as,
        topic,
        now,
        run === null ? [] : saidBy(await store.history(run.task.id), run.sender.run),
      ),
      topic,
      sources,
      neighbours: neighbours.map(sourceOf),
      confidence: sharedConfidence(nodes.map(({ node }) => node)),
      nextStage: options.next ?? nextStageOf(as),
      now,
      tokens: options.tokens ?? config.bridge.tokens,
      countTokens,
    };
    // Whether it can fit at all is known before an agent is paid for it.
    const plain = fitting(summarise(request), request.tokens);
    const prose = agent === null ? null : await proseBy({ store, dir, config, agent, session: place, request });
    const summary = withProse(request, plain, prose);
    const made =
      run === null
        ? await ask(store, {
            type: 'graph.apply',
            updates: [graphUpdateOf(summary.node)],
            escalate: escalation(config),
            session: place,
          })
        : await sayAsRun({ store, dir, config }, run.sender, encodeGraphUpdate(summary.node));
    const whole = await store.node(request.id);
    if (whole === undefined && run === null)
      throw new BatonError('E_UNKNOWN', `${request.id} was written and is not there`);
    const { type: _, ...written } = summary.node;
    if (options.json) printJson({ ...(whole === undefined ? written : nodeJson(whole)), output: summary.output });
    else {
      print(encodeOutput(summary.output));
      const beside = summary.named === 0 ? '' : ` and ${summary.named} beside them`;
      note(
        `made ${request.id} of ${nodes.length} nodes${beside}: ${summary.nodeTokens} tokens, ${summary.tokens} of them data; confidence ${request.confidence}`,
      );
    }
    if (whole === undefined) note('the graph takes it when this run has ended well');
    const unnamed = neighbours.length - summary.named;
    const gone = [...summary.dropped, ...(unnamed === 0 ? [] : [`the names of ${unnamed} nodes beside them`])];
    if (gone.length > 0) note(`left out, to fit ${request.tokens} tokens: ${gone.join(', ')}`);
    for (const { id, question, answer } of made.questions ?? [])
      if (answer === null)
        note(
          `${id}: ${oneLine(question)}\n  nobody builds upon it before a person has answered: baton answer ${id} TEXT`,
        );
  });
}

/** A person may sum up any session, a run its own. */
async function personsSession(store: Store, session: string | undefined): Promise<string | undefined> {
  if ((await actorOf(store)).kind === 'person') return session;
  const what = session ?? 'all sessions';
  throw new BatonError('E_PERMISSION_DENIED', `expected a person to sum up ${what}, got nobody that could be named`);
}

/** What a run says it says by its own ways, and it counts when the run has ended well. */
async function sayAsRun(
  place: Pick<Parameters<typeof openHost>[0], 'store' | 'dir' | 'config'>,
  sender: Sender,
  text: string,
): Promise<{ readonly questions?: readonly Question[] }> {
  const socket = process.env['BATON_SOCKET'] ?? '';
  if (socket !== '') {
    refuse(await overSocket(socket, text));
    return {};
  }
  const host = await openHost(place);
  try {
    judgeClaims(host);
    refuse(await host.router.take(text, sender));
  } finally {
    await host.close();
  }
  return {};
}

/** The nodes that a run has said, and that are not in the graph yet. */
const saidBy = (history: readonly StoredRecord[], run: string | null): string[] =>
  history.flatMap(({ events }) =>
    events.flatMap(({ type, run: of, detail }) => {
      const said = type === 'protocol.message.received' && of === run ? detail?.['graph'] : undefined;
      return isFields(said) && typeof said['node_id'] === 'string' ? [said['node_id']] : [];
    }),
  );

type Made = Extract<Summary, { ok: true }>;

function fitting(summary: Summary, tokens: number): Made {
  if (summary.ok) return summary;
  throw new Refused(
    'E_CONTEXT_OVERFLOW',
    `what is required does not fit ${tokens} tokens, however short its sentences are: it takes at least ${summary.least}`,
    `try: --tokens ${summary.least}, or fewer types`,
  );
}

/** Prose that makes it too long in spite of being shortened is not worth the summary. */
function withProse(request: SummaryRequest, plain: Made, prose: Prose | null): Made {
  if (prose === null) return plain;
  const summary = summarise({ ...request, prose });
  if (summary.ok) return summary;
  note(
    `warning: the prose of ${prose.by} does not fit ${request.tokens} tokens; what was put together from the nodes stays`,
  );
  return plain;
}

/** The candidates that may be built upon, chosen by score; what is left out is said. */
async function chosen(
  store: Store,
  types: readonly string[],
  as: string,
  session: string | undefined,
): Promise<{ nodes: readonly Scored[]; neighbours: readonly Scored[] }> {
  const asked = new Set((await openQuestions(store)).flatMap(({ node, about }) => [node, about]));
  const candidates: WholeNode[] = [];
  const left: string[] = [];
  const filter = session === undefined ? {} : { session };
  for await (const node of store.nodes({ type: types, ...filter })) {
    const why = whyLeftOut(node, asked.has(node.id));
    if (why === null) candidates.push(node);
    else left.push(`${node.id} is left out: ${oneLine(why)}`);
  }
  for (const text of left.slice(0, MOST_TOLD)) note(text);
  if (left.length > MOST_TOLD) note(`and ${left.length - MOST_TOLD} more`);
  if (candidates.length === 0) {
    const where = session === undefined ? '' : ` in the session ${session}`;
    const sentence = `there is no ${types.join(' or ')}${where} that could be summed up${left.length === 0 ? '' : `; ${left.length} are left out`}`;
    throw new BatonError('E_NOT_FOUND', sentence, 'see: baton graph list');
  }
  const isNear = (node: WholeNode): boolean =>
    // A summary of the same kind would be a summary of itself before long.
    node.type !== as &&
    whyLeftOut(node, asked.has(node.id)) === null &&
    (session === undefined || node.session === session);
  return pick(candidates, async ({ id }) => {
    const ids = new Set((await store.lineage(id, { hops: 1 }))?.nodes.map((node) => node.id));
    for (const { source, target } of await store.edges(id)) ids.add(source).add(target);
    ids.delete(id);
    const found = await Promise.all([...ids].map((other) => store.node(other)));
    return found.filter((node) => node !== undefined).filter(isNear);
  });
}

const MOST_TOLD = 20;

function sourceOf({ node, score }: Scored): Source {
  const handoff = isFields(node.document['handoff']) ? node.document['handoff'] : {};
  const required = handoff['required_fields'];
  return {
    id: node.id,
    type: node.type,
    domain: node.domain,
    score,
    data: dataOf(node),
    requiredFields: Array.isArray(required) ? required.filter((field) => typeof field === 'string') : [],
  };
}

/** That of all of them; where they are of several, it belongs to none of these. */
function sharedSession(nodes: readonly Scored[]): string {
  const sessions = new Set(nodes.map(({ node }) => node.session));
  const [only] = sessions;
  return sessions.size === 1 && only !== undefined ? only : DEFAULT_SESSION;
}

/** `design_summary_20251028_120000`, as in the document; a collision gets `_2`. */
async function freeId(
  store: Store,
  type: string,
  topic: string | null,
  now: string,
  said: readonly string[],
): Promise<string> {
  const [first = 'node', ...others] = snakeCase(type).split('_');
  const rest = [...others, ...(topic === null ? [] : [topic])].join('_');
  const id = nodeId(first, rest === '' ? 'summary' : rest, now);
  for (let number = 1; ; number++) {
    const free = number === 1 ? id : `${id}_${number}`;
    if (!said.includes(free) && (await store.node(free)) === undefined) return free;
  }
}
