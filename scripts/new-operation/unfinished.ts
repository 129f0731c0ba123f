/**
 * Marks a stub. `contracts/unfinished.test.ts` fails while one is left.
 * @testonly
 */
export const STUB_MARK = 'NOT WRITTEN YET';

export function unfinished(task: string): string {
  return `${STUB_MARK}: ${task}.`;
}
