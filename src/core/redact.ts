/**
 * Takes secrets out of what is kept or shown: keys of providers by their form, what stands behind `password=` and the like, bearer tokens,
 * private keys, and the passwords in URLs. A guess by form, so it may take too much and can miss what has no form; what is not written down
 * at all is safer. Time is linear in the text, whatever it holds: no pattern here can run over the same characters again and again, and what
 * would need that is done by hand.
 */

export const REDACTED = '[redacted]';

/** Twice is once: what is redacted stays as it is. */
export function redact(text: string): string {
  // A private key first, since its lines would look like other things; then what takes more before what takes less.
  return withoutKeys(withoutBearers(withoutAssigned(withoutUserinfo(withoutPrivateKeys(text)))));
}

/** The same value with every text in it redacted, and whatever stands under a name like `password`. What has no secret is the very same. */
export function redactDeep<T>(value: T): T {
  return deep(value) as T;
}

function deep(value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(deep);
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  let isChanged = false;
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => {
    const [shown, clean] = [redact(name), isSecret(name, item) ? REDACTED : deep(item)];
    if (shown !== name || clean !== item) isChanged = true;
    return [shown, clean];
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

/** How a name ends that has a secret behind it. `tokens` and `token_env` are not such names. */
const NAME =
  'passw(?:or)?d|passphrase|[_-]pass|secret|token|(?:api|access|private|secret|account|auth)[_-]?key|credentials?|authorization';
const ENDS_AS_SECRET = new RegExp(`(?:${NAME})$`, 'i');

const isSecret = (name: string, value: unknown): boolean =>
  (typeof value === 'string' ? value !== '' : typeof value === 'number' && !/token$/i.test(name)) &&
  ENDS_AS_SECRET.test(name);

const BEGIN = '-----BEGIN ';
const END = '-----END ';
const IS_PRIVATE = /[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const AFTER_END = /[A-Z0-9 ]{0,60}-----/y;

/** A key that is cut off goes to the end of the text. */
function withoutPrivateKeys(text: string): string {
  return replaced(text, BEGIN, (start) => {
    const after = start + BEGIN.length;
    if (!matchesAt(IS_PRIVATE, text, after)) return null;
    const end = text.indexOf(END, after);
    if (end === -1) return { from: start, to: text.length };
    return { from: start, to: matchesAt(AFTER_END, text, end + END.length) ? AFTER_END.lastIndex : end + END.length };
  });
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

const AUTHORITY_END = new Set([...' \t\r\n/?#"\'`<>\\']);

/** `user:password@` of a URL; a user alone is no secret. */
function withoutUserinfo(text: string): string {
  return replaced(text, '://', (start) => {
    const from = start + 3;
    let [colon, at] = [-1, -1];
    for (let i = from; i < text.length && !AUTHORITY_END.has(text[i] as string); i++) {
      if (text[i] === ':' && colon === -1) colon = i;
      if (text[i] === '@') at = i;
    }
    return colon === -1 || at < colon ? null : { from, to: at };
  });
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Puts the mark in place of what `spanAt` finds at the places where `start` stands. */
function replaced(text: string, start: string, spanAt: (at: number) => Span | null): string {
  let out = '';
  let done = 0;
  for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, Math.max(done, at + start.length))) {
    const span = spanAt(at);
    if (span === null) continue;
    out += text.slice(done, span.from) + REDACTED;
    done = span.to;
  }
  return done === 0 ? text : out + text.slice(done);
}

/** Each begins with what only such a key begins with, and ends where its characters end; nothing has to follow. */
const KEYS =
  /(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|AIza[\w-]{30,}|gh[a-z]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9]))/g;
/** A signed token: three parts, the first of them JSON in base64. It begins only where such a part can, so that no start lies in another's. */
const SIGNED = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g;

const withoutKeys = (text: string): string => text.replace(KEYS, REDACTED).replace(SIGNED, REDACTED);

const BEARER = /\b(bearer[ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi;

/** The word is also one of plain English; a token has more than letters in it, or is long. */
const withoutBearers = (text: string): string =>
  text.replace(BEARER, (whole, word: string, token: string) =>
    token.length >= 20 || /[^A-Za-z.-]/.test(token) ? word + REDACTED : whole,
  );

const ASSIGNED = new RegExp(`(?:${NAME})(?![A-Za-z0-9_-])`, 'gi');

/** `name=value`, `name: value`, `"name": "value"`, and the last one within JSON of its own. */
function withoutAssigned(text: string): string {
  let out = '';
  let done = 0;
  ASSIGNED.lastIndex = 0;
  for (let found = ASSIGNED.exec(text); found !== null; found = ASSIGNED.exec(text)) {
    const span = valueAfter(text, ASSIGNED.lastIndex, found[0].toLowerCase());
    if (span === null) continue;
    out += text.slice(done, span.from) + REDACTED;
    done = span.to;
    ASSIGNED.lastIndex = span.to;
  }
  return done === 0 ? text : out + text.slice(done);
}

function valueAfter(text: string, end: number, name: string): Span | null {
  let at = skipBlanks(text, skipQuote(text, end).at);
  if (text[at] !== '=' && text[at] !== ':') return null;
  at = skipBlanks(text, at + 1);
  const quote = skipQuote(text, at);
  const from = quote.at;
  const to = quote.mark === null ? bareEnd(text, from, name) : quotedEnd(text, from, quote.mark, quote.escapes);
  if (to === from || text.startsWith(REDACTED, from)) return null;
  return quote.mark === null && isHarmless(text.slice(from, to), name) ? null : { from, to };
}

/** A count of tokens, or a word that says that there is no secret. */
const isHarmless = (value: string, name: string): boolean =>
  /^(?:null|true|false|undefined|none)$/i.test(value) || (name === 'token' && /^\d{1,9}$/.test(value));

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}

/** A quotation mark with the backslashes before it, where there is one. */
function skipQuote(text: string, from: number): { at: number; mark: string | null; escapes: number } {
  let at = from;
  while (text[at] === '\\') at++;
  const mark = text[at];
  if (mark !== '"' && mark !== "'" && mark !== '`') return { at: from, mark: null, escapes: 0 };
  return { at: at + 1, mark, escapes: at - from };
}

/** The same mark with as many backslashes; the end of the line where it does not come. */
function quotedEnd(text: string, from: number, mark: string, escapes: number): number {
  let slashes = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\n') return at;
    if (char === mark && slashes <= escapes && slashes % 2 === escapes % 2) return at - slashes;
    slashes = char === '\\' ? slashes + 1 : 0;
  }
  return text.length;
}

const BARE_END = new Set([...' \t\r\n"\'`,;&<>{}()[]\\']);
/** `Authorization: Basic …` has two words. */
const LINE_END = new Set([...'\r\n"\'`,;<>{}[]\\']);

function bareEnd(text: string, from: number, name: string): number {
  const ends = name === 'authorization' ? LINE_END : BARE_END;
  let at = from;
  while (at < text.length && !ends.has(text[at] as string)) at++;
  return at;
}
