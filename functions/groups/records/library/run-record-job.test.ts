import { expect, test, vi } from 'vitest';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { BATCH_HANDLER } from './job-facts.ts';
import { runRecordJob } from './run-record-job.ts';

test.each([
  { worker: 'that has the run discards', lease: null, discards: 1 },
  {
    worker: 'that has lost the run keeps',
    lease: new ServiceError('lease_stale', 'Another worker has the run.'),
    discards: 0,
  },
])('a refused worker $worker the staged payload', async ({ lease, discards }) => {
  const refusal = new ServiceError('not_found', 'The payload cannot be read.');
  const discard = vi.fn(() => Promise.resolve());
  const payloads = { read: () => Promise.reject(refusal), discard };
  const parts = {
    records: { store: () => Promise.reject(refusal), world: { clock: { now: () => 0 } } },
    payloads,
  } as unknown as JobLayers;
  const context = {
    handlerId: BATCH_HANDLER,
    runId: 'run',
    job: { space: 'space' },
    payload: { collection: 'c', staged: 'reference' },
    signal: new AbortController().signal,
    report: () => (lease === null ? Promise.resolve() : Promise.reject(lease)),
  } as unknown as JobContext;
  await expect(runRecordJob(parts, context)).rejects.toBe(refusal);
  expect(discard).toHaveBeenCalledTimes(discards);
});
