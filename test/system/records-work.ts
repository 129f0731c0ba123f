import type { ExecutionTraceEvent } from '../../contracts/generated/models.ts';
import type { CollectionImportRequest, RecordImportJob, SvcClient } from '../../sdk/typescript/src/index.ts';

/** Collections as a client fills and watches them, for tests that kill the process which does the work. */

export const policyOf = (name: string) => ({ name, indexedMetadata: ['/metadata/index'] });

export function inputsOf(count: number, edition: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    partitionKey: `p${index % 3}`,
    type: 'note',
    metadata: { index, edition },
  }));
}

export function importOf(
  name: string,
  records: ReturnType<typeof inputsOf>,
  more: Partial<CollectionImportRequest> = {},
): CollectionImportRequest {
  return { snapshot: { collection: name, policy: policyOf(name), records }, ...more };
}

/** Waits until the job has written some of its records, and fails where it has written all. */
export async function untilUnderWay(client: SvcClient, id: string): Promise<RecordImportJob> {
  for (;;) {
    const job = await client.getRecordImportJob(id);
    if (job === null) throw new Error(`there is no job ${id}`);
    if (job.completedAt !== null) throw new Error(`the job ended as ${job.status} before it was looked at`);
    if (job.attempted > 0) return job;
  }
}

/** The workers that started the run, in the order of its attempts. */
export async function startersOf(url: string, runId: string): Promise<unknown[]> {
  const answer = await fetch(`${url}/execution/runs/${runId}/history?limit=200`);
  const events = (await answer.json()) as readonly ExecutionTraceEvent[];
  const starts = events.filter(({ type }) => type === 'run.started');
  return starts.map(({ context }) => context['workerId']);
}
