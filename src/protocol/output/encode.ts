/** Envelopes and nodes as the text that `decode` reads back. */
import { writeYaml } from '../text/yaml.ts';
import type { GraphUpdate, Output } from './schema.ts';

export const encodeOutput = (output: Output): string => writeYaml({ OUTPUT: output });

export const encodeGraphUpdate = (update: GraphUpdate): string =>
  `[GRAPH_UPDATE]\n${writeYaml(update)}[/GRAPH_UPDATE]\n`;
