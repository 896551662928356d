/** All rules of plain language, in the order in which they are tried: the first that fits a whole clause says what it means. */
import type { Names, NaturalContext } from './natural-agents.ts';
import { namesOf } from './natural-agents.ts';
import { CHECKPOINT } from './phrases-checkpoint.ts';
import { COORDINATION } from './phrases-coordination.ts';
import { HELP } from './phrases-help.ts';
import { compile, type Meaning, type Rule, saidBy } from './phrases-rule.ts';
import { STATE } from './phrases-state.ts';
import { WORK } from './phrases-work.ts';

/**
 * Checkpoints before state (`save a checkpoint`), state before what is asked about agents (`what is the db`), messages before work
 * (`let emma know` is no task).
 */
export const RULES: readonly Rule[] = [...CHECKPOINT, ...HELP, ...STATE, ...COORDINATION, ...WORK];

/** A clause without any of these does nothing. */
export const KEYWORDS: readonly string[] = [...new Set(RULES.flatMap(({ words }) => words))];

/** Expressions are made when they are first needed: most lines need few of them. */
type Expressions = Map<string, RegExp>;

export interface Grammar {
  readonly names: Names;
  readonly meaningOf: (clause: string, quotes: readonly string[], antecedent: string | null) => Meaning | null;
}

/** The rules for who is known now. */
export function grammarOf(context: NaturalContext): Grammar {
  const names = namesOf(context);
  const expressions = expressionsFor(names);
  const meaningOf: Grammar['meaningOf'] = (clause, quotes, antecedent) => {
    const small = clause.toLowerCase();
    for (const rule of RULES) {
      if (!rule.words.some((word) => small.includes(word))) continue;
      for (const pattern of rule.patterns) {
        const match = expression(pattern, names, expressions).exec(clause);
        const meaning = match === null ? null : rule.means(saidBy(match, quotes, context, names, antecedent));
        if (meaning !== null) return meaning;
      }
    }
    return null;
  };
  return { names, meaningOf };
}

/** The last names and what was made for them: a session asks again and again with the same agents. */
let last: { readonly pattern: string; readonly expressions: Expressions } | null = null;

function expressionsFor({ pattern }: Names): Expressions {
  if (last?.pattern !== pattern) last = { pattern, expressions: new Map() };
  return last.expressions;
}

function expression(pattern: string, names: Names, made: Expressions): RegExp {
  const known = made.get(pattern);
  if (known !== undefined) return known;
  const fresh = compile(pattern, names);
  made.set(pattern, fresh);
  return fresh;
}
