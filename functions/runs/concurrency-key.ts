import { recordId } from '../store/record-id.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import type { Run } from './run.ts';

/**
 * The key under which the run is executed: the handler's, and for a job also its space and subject, so that jobs on different
 * data never wait for one another. `null` where any number of the handler's runs may be executed at a time.
 */
export function concurrencyKeyOf(
  registry: HandlerRegistry,
  { handlerId, job }: Pick<Run, 'handlerId' | 'job'>,
): string | null {
  const key = registry.get(handlerId)?.concurrencyKey ?? null;
  if (key === null || job === undefined) return key;
  return `${key}/${recordId('job', job.space, job.subject ?? '')}`;
}
