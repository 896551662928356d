/** How urgent a task is, from the words around it: urgent, critical, asap → P0; important → P1; when you can → P3. */

export type Priority = 'P0' | 'P1' | 'P2' | 'P3';

const DEGREE = '(?:very |really |super |quite |extremely |so |that |too |all that |pretty )?';
const IT_IS = "(?:(?:because |as |since )?(?:it's|it is|its|this is|that's|that is|this one is|is) )?";
const NOT = "(?:not |isn't |nothing )";
const IT_IS_NOT = "(?:(?:it's|it is|this is|that's|that is|this|it|that) )?";
const CAN = '(?:you|she|he|they|we|it|anyone)';

/** Said beside the task, not part of it. The first that fits counts, so what is negated comes first. */
const MARKERS: readonly (readonly [string, Priority])[] = [
  [`${IT_IS_NOT}${NOT}${DEGREE}(?:urgent|critical|important|pressing)`, 'P3'],
  [
    `(?:there(?:'s| is) )?no (?:rush|hurry)|(?:at )?low(?:est)? priority|when(?:ever)? ${CAN} (?:can|could|have time|has time|gets? (?:a chance|around to it)|get a chance)|when there(?:'s| is) time|at (?:your|her|his|their) leisure|eventually|some ?day|in (?:your|her|his|their) own time`,
    'P3',
  ],
  [
    `${IT_IS}${DEGREE}(?:urgent|critical|an emergency)|(?:and )?(?:it )?needs to be done (?:asap|now|immediately)|(?:i need (?:it|this|that) )?(?:asap|a\\.s\\.a\\.p\\.?|as soon as possible|urgently|immediately|right away|straight away|at once)|(?:as |at )?(?:top|highest|critical) priority`,
    'P0',
  ],
  [`${IT_IS}${DEGREE}important|(?:as |at |with )?high priority`, 'P1'],
];
const EXPLICIT = '(?:(?:with |as |at )?(?:priority )?\\(?(p[0-3])\\)?|priority (p?[0-3]))';

const LEAD = (body: string): RegExp => new RegExp(`^(?:${body})(?: task)? ?(?:[:,–—-]+ ?|$)`, 'i');
const TRAIL = (body: string): RegExp =>
  new RegExp(`(?:^|,? ?[–—-] |, |; |\\. | )(?:and |but )?(?:${body})(?:,? please)?$`, 'i');

const MARKED = MARKERS.map(([body, priority]) => ({
  lead: LEAD(body),
  trail: TRAIL(body),
  whole: new RegExp(`^(?:${body})$`, 'i'),
  priority,
}));
const EXPLICIT_LEAD = LEAD(EXPLICIT);
const EXPLICIT_TRAIL = TRAIL(EXPLICIT);

interface Ranked {
  /** The text without what was said of its priority alone. */
  readonly text: string;
  readonly priority: Priority | null;
}

/** Markers before and after the text are taken off, the most urgent counts; failing those, the words within it speak. */
export function takePriority(written: string): Ranked {
  let text = written.trim();
  const found: Priority[] = [];
  for (let i = 0; i < 4; i++) {
    const taken = takeOne(text);
    if (taken === null) break;
    found.push(taken.priority);
    text = taken.text;
  }
  return { text, priority: found.length > 0 ? (found.sort()[0] ?? null) : within(text) };
}

function takeOne(text: string): { readonly text: string; readonly priority: Priority } | null {
  for (const pattern of [EXPLICIT_TRAIL, EXPLICIT_LEAD]) {
    const match = pattern.exec(text);
    if (match !== null) return { text: cut(text, match), priority: explicit(match[1] ?? match[2]) };
  }
  for (const { lead, trail, priority } of MARKED) {
    const match = trail.exec(text) ?? lead.exec(text);
    if (match !== null) return { text: cut(text, match), priority };
  }
  return null;
}

const cut = (text: string, match: RegExpExecArray): string =>
  (text.slice(0, match.index) + text.slice(match.index + match[0].length)).trim();

const explicit = (written = ''): Priority => `P${written.replace(/\D/g, '')}` as Priority;

/** What can itself be urgent: a piece of work. Of all else (`the critical section`, `an urgent flag`) the word says no priority. */
const WORK =
  '(?:bugs?|issues?|problems?|tasks?|jobs?|fix(?:es)?|tickets?|outages?|incidents?|crash(?:es)?|regressions?|defects?|vulnerabilit(?:y|ies))';
const WORK_ENDS = '(?=$|[,.;!?)]| (?:in|of|on|with|for|at|from|that|which|where|when|we|before|today|now)\\b)';
const URGENT_WORK = new RegExp(`(?<![\\w-])(?:urgent|critical) ${WORK}${WORK_ENDS}`, 'i');
const IMPORTANT_WORK = new RegExp(`(?<![\\w-])important ${WORK}${WORK_ENDS}`, 'i');

/** `the critical bug` is part of the task, and says how urgent it is. */
function within(text: string): Priority | null {
  if (URGENT_WORK.test(text)) return 'P0';
  return IMPORTANT_WORK.test(text) ? 'P1' : null;
}

/** A clause that says nothing but how urgent something else is; null where it says more. */
export function priorityOnly(clause: string): Priority | null {
  return MARKED.find(({ whole }) => whole.test(clause))?.priority ?? null;
}
