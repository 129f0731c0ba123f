import type { Execution } from './execution.ts';

const RANDOM = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{13}/gi;

/**
 * Warns the author in Development: a name that looks random is new in this execution, and in its place an earlier one had
 * another. Such a step works again each time.
 */
export function warnOfNames(execution: Execution): void {
  const { port, fresh } = execution;
  if (port.isDevelopment !== true) return;
  const before = new Map(execution.unused().map((key) => [key.replaceAll(RANDOM, '*'), key]));
  for (const key of fresh) {
    const place = key.replaceAll(RANDOM, '*');
    const other = before.get(place);
    if (place !== key && other !== undefined)
      port.log('warning', `step names must repeat: "${key}" was "${other}" in an earlier execution`);
  }
}
