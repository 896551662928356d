/** Names and words for nodes: how a type is written in an id or a key, and what a node says about itself in one line. */
import type { Fields } from '../../core/fields.ts';

/** `DesignSummary` → `design_summary`, `SEOBrief` → `seo_brief`, `ADR` → `adr`. */
export const snakeCase = (type: string): string =>
  type
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])(?=[A-Z][a-z])/g, '$1_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');

/** The type's name for several nodes, as keys of `detail_nodes` have it: `adrs`, `specifications`, `test_results`. */
export function pluralKey(type: string): string {
  const word = snakeCase(type) || 'nodes';
  if (/sis$/.test(word)) return word.replace(/sis$/, 'ses');
  if (/s$/.test(word)) return word;
  return /[^aeiou]y$/.test(word) ? word.replace(/y$/, 'ies') : `${word}s`;
}

/** The fields that tell what a node is about, the most telling first. */
const TELLING = [
  'summary',
  'title',
  'component_name',
  'question',
  'test_suite',
  'reviewed_item',
  'approved_item',
  'architecture_overview',
  'validation_result',
] as const;

/** One line about a node; empty where its data have none. */
export function titleOf(data: Fields): string {
  for (const field of TELLING) {
    const value = data[field];
    if (typeof value === 'string' && value.trim() !== '') return value.replace(/\s+/g, ' ').trim();
  }
  return '';
}
