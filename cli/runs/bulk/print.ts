import { jsonText, type OutputForm, printLine, warn } from '../../output.ts';
import type { BulkResult } from './results.ts';

/** The results on standard output, a line each; refusals on standard error. */
export function printResults(results: readonly BulkResult[], output: OutputForm): void {
  if (output === 'json') return printLine(jsonText(results));
  for (const { id, status, newRunId, error } of results) {
    if (error !== null) warn(`${id}: ${error}`);
    else printLine([id, newRunId ?? [], status ?? []].flat().join('  '));
  }
}
