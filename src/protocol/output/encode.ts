/** Envelopes and nodes as the text that `decode` reads back. */
import { writeYaml } from '../text/yaml.ts';
import type { GraphUpdate, Output } from './schema.ts';

export const encodeOutput = (output: Output): string => writeYaml({ OUTPUT: output });

export const encodeGraphUpdate = (update: GraphUpdate): string =>
  `[GRAPH_UPDATE]\n${writeYaml(update)}[/GRAPH_UPDATE]\n`;

/** `{type}_{topic}_{YYYYMMDD_HHmmss}` (document, "Node ID Format"; DECISIONS §9). */
export function nodeId(type: string, topic: string, now: string): string {
  const word = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 60);
  const digits = now.replace(/\D/g, '').padEnd(14, '0');
  return `${word(type) || 'node'}_${word(topic) || 'untitled'}_${digits.slice(0, 8)}_${digits.slice(8, 14)}`;
}
