/** What the output protocol keeps out of a report and an agent's block holds. The block for the parent is made without it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { checkSummary } from '../../protocol/aop1/checklist.ts';
import type { Facts } from '../facts.ts';
import type { Heard } from '../hearing.ts';

/**
 * Records the findings, and returns them as warnings for the RESPONSE.
 * @param folders where a DETAILS_FILE may be
 */
export function tellOfReport(facts: Facts, heard: Heard | null, folders: readonly string[]): string[] {
  if (heard === null || heard.dialect !== 'aop1') return [];
  const { summary, detailsFile } = heard.report;
  const said = heard.message?.problems.filter(({ code }) => code === 'E_CHECKLIST') ?? [];
  const problems = (said.length > 0 ? said : checkSummary(summary)).map(({ code, message }) => ({ code, message }));
  const isLost = detailsFile !== null && !folders.some((folder) => existsSync(resolve(folder, detailsFile)));
  if (isLost) problems.push({ code: 'E_FILE_NOT_FOUND', message: `the DETAILS_FILE ${detailsFile} is not there` });
  if (problems.length > 0) facts.tell('protocol.message.warning', { type: 'aop1 report', problems });
  return problems.map(({ code, message }) => `${code}: ${message}`);
}
