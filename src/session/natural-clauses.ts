/** A line of plain words, cut where one wish may end and another begin, and the words around a wish that say how it is meant. */

/** How strongly two pieces are apart: a sentence's end, `then`, or no more than `and` or a comma. */
type Gap = 'sentence' | 'then' | 'weak';

export interface Piece {
  readonly text: string;
  /** What is between this piece and the one before. */
  readonly gap: Gap;
  /** The same as it is written, for pieces that belong together after all. */
  readonly glue: string;
  /** Ends in a question mark. */
  readonly asks: boolean;
  /** Begins with `then`, `after that`, `once that is done`: it comes after what was said before. */
  readonly follows: boolean;
}

const IS_DONE =
  "(?:'s|'ve| is| are| has| have)?(?: been)? (?:done|finished|complete|completed|ready|through|merged|finishes|completes)";
const ORDER = `(?:then|after that|after this|afterwards|subsequently|(?:once|when|as soon as|after) (?:that|it|this|she|he|they)${IS_DONE})`;

const GAP = new RegExp(
  `(?:[.!?;]+(?:\\s+|$)|\\s*\\n\\s*)(?:(?:and )?${ORDER}\\b,? ?(?!$))?|(?:,| -)? (?:and )?${ORDER}\\b,? ?(?!$)|, (?:and |but |plus )?(?:also )?| (?:and|but|plus|&) (?:also )?`,
  'gi',
);
const FOLLOWS = new RegExp(`${ORDER}\\b`, 'i');

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  let gap: Gap = 'sentence';
  let glue = '';
  let follows = false;
  const add = (end: number, asks: boolean): void => {
    const piece = text.slice(start, end).trim();
    if (piece !== '') pieces.push({ text: piece, gap, glue, asks, follows });
  };
  for (const match of text.matchAll(GAP)) {
    add(match.index, match[0].includes('?'));
    start = match.index + match[0].length;
    follows = FOLLOWS.test(match[0]);
    gap = /[.!?;\n]/.test(match[0]) ? 'sentence' : follows ? 'then' : 'weak';
    glue = match[0].replace(/\n/g, ' ').replace(/\s+/g, ' ');
  }
  add(text.length, false);
  return pieces;
}

/** How surely something is wanted: `half` is enough for all but what cannot be taken back, `hardly` for nothing but looking. */
export type Doubt = 'none' | 'half' | 'hardly';

interface Wish {
  readonly text: string;
  readonly doubt: Doubt;
  /** Asked for, as in `can you`: its question mark is no doubt. */
  readonly polite: boolean;
}

const TALK =
  /^(?:(?:please|pls|plz|kindly|hey|ok|okay|so|well|now|and|but|then|also|just|quickly|baton|hmm|yes|yeah|sure|oh|alright|first|finally|lastly)(?:,|!)? (?=\S)|(?:hi|hello|next|great|good|cool|right|thanks|thank you|perfect|good morning)[,!] |go ahead and |feel free to |do me a favou?r and |be so kind (?:as to|and) )/i;
const ASKED =
  /^(?:(?:would|do) you mind (?=(?:ask|tell|hav|gett|lett|mak|giv|delegat|assign)ing\b)|(?:can|could|would|will) (?:you|we) (?:please |pls |kindly |just |quickly |also )*(?=(?:get|have|ask|let)\b)|(?:can|could|would|will) you (?:please |kindly |just |quickly |also )*(?=\S)|(?:i'd|i would) (?:like|love) (?:you )?to (?!know|see)|i (?:want|need) (?:you )?to (?!know|see)|(?:we|i) (?:need|have) to |let's |let us |lets |time to |it's time to |i'd appreciate it if you (?:could |would )?)/i;
/** Before a question that is asked in a roundabout way. */
const TOLD =
  /^(?:(?:please )?(?:tell|show) me (?=what|how|who|which|where|if|whether)|let me know (?=what|how|who|which|where|if|whether)|(?:i'd like|i would like|i want|i need) to (?:know|see) (?=what|how|who|which|where|if|whether|the)|(?:do|can|could) you (?:know|tell me|say) (?=what|how|who|which|where|if|whether)|i wonder (?=what|how|who|which|where|if|whether))/i;
const HALF =
  /^(?:(?:can|could|may|shall|should) (?:we|i) (?!need|start)|you (?:can|may) |we (?:can|could) |why (?:don't|not) (?:you |we )?)/i;
const HARDLY =
  /^(?:maybe|perhaps|possibly|probably|i (?:think|guess|suppose|feel|believe)(?: that)?|what if|(?:you|we|i) (?:should|might|may want to|might want to|could|ought to)|it might be (?:good|better|wise|time) to|i(?:'m| am) (?:thinking|wondering|tempted)(?: (?:of|about|if|whether|to))?|not sure (?:if|whether)|i wonder if|(?:i|we) (?:will|would|am going to|are going to|may|plan to|want you not to))(?:,|:)? (?:we should |you should |i should |we could |we |you |i )?/i;
const TAIL =
  /(?:,? (?:please|pls|plz|thanks|thank you|thx|for me|will you|would you|could you|ok|okay|if you can|if possible|if you could|if you would|if you don't mind|cheers))+$/i;

/** `would you mind asking emma` asks to ask. */
const BARE: Readonly<Record<string, string>> = {
  asking: 'ask',
  telling: 'tell',
  having: 'have',
  getting: 'get',
  letting: 'let',
  making: 'make',
  giving: 'give',
  delegating: 'delegate',
  assigning: 'assign',
};
const GERUND = new RegExp(`^(${Object.keys(BARE).join('|')})\\b`, 'i');

/** What is wanted, without the words of politeness around it. */
export function wishOf(piece: string): Wish {
  let text = piece.trim().replace(/[\s.!?;,:]+$/, '');
  let [doubt, polite]: [Doubt, boolean] = ['none', false];
  for (let i = 0; i < 8; i++) {
    const before = text;
    text = text.replace(TALK, '').replace(TOLD, '').replace(TAIL, '');
    const asked = text.replace(ASKED, '');
    polite ||= asked !== text;
    const half = asked.replace(HALF, '');
    if (half !== asked && doubt === 'none') doubt = 'half';
    const hardly = half.replace(HARDLY, '');
    if (hardly !== half) doubt = 'hardly';
    text = (polite ? hardly.replace(GERUND, (_, verb: string) => BARE[verb.toLowerCase()] ?? verb) : hardly).trim();
    if (text === before) break;
  }
  return { text, doubt, polite };
}

const NOT =
  /^(?:(?:i|we|you|they|let's|please|emphatically|really|just)(?:,)? )*(?:(?:do|does|did|should|must|could|would|will|can|need|have|has|is|are|was)(?:n't|nt| not)\b|won't|can't|cannot|never\b|not\b|no\b|stop\b|avoid\b|refrain\b|nobody\b|no one\b|without\b|instead of\b|rather than\b|under no circumstances\b|by no means\b)/i;

/** The wish is that something is not done. */
export const isNegated = (wish: string): boolean => NOT.test(wish);

const CANCEL =
  /^(?:no|nope|no thanks|no thank you|never ?mind|forget (?:it|that|about it|about that)|cancel|cancel (?:it|that)|scratch that|just kidding|not now|wait,? no|actually,? (?:no|don't|not)|(?:please )?(?:don't|do not|never|not)(?: ever| at all| under any circumstances)?|never ever|under no circumstances|by no means|stop|stop it|stop that|on second thought,? no|leave it|let it be|skip it|skip that)$/i;

/** Takes back whatever else the line says. */
export const isCancel = (wish: string): boolean => CANCEL.test(wish);

const NOT_NOW =
  '(?:(?:just )?(?:yet|now|right now|today|for now|at once|right away|immediately|so soon)|(?:before|until|till|unless) .+)';
const PUT_OFF = new RegExp(
  `^(?:(?:do not|don't|never) (?:(?:start|begin)(?: with)?(?: it| that| this| on it| working| working on it)?(?: ${NOT_NOW})?|(?:do|delegate) (?:it|that|this) ${NOT_NOW})|not ${NOT_NOW}|hold off(?: .*)?|wait with (?:it|that|this)(?: .*)?|(?:start|begin) (?:it |that |this |with it )?(?:later|tomorrow|another time))$`,
  'i',
);

/** What else is asked for is not to begin now. */
export const isPutOff = (wish: string): boolean => PUT_OFF.test(wish);

const FILLER =
  /^(?:please|thanks|thank you|thanks a lot|thx|cheers|ok|okay|hi|hello|hey|hi there|hello there|good (?:morning|evening|afternoon|day)|great|cool|perfect|yes|yeah|sure|baton|right|well|so|sorry|alright|now|and|then|also|if you can|if possible|when you are ready)$/i;

export const isFiller = (piece: string): boolean => FILLER.test(piece.replace(/[\s.!?;,:]+$/, ''));
