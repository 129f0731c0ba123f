import { beforeAll, describe, expect, test } from 'vitest';
import { formatUtc } from '../../functions/kernel/timestamp.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { PASSING } from '../support/failing-provider.ts';
import { FREE_HANDLERS } from '../support/free-handlers.ts';
import { type PatientJob, patientJobs } from '../support/patient-jobs.ts';
import { builtInHandlers, startService } from '../support/service.ts';
import { PATIENCE_MS } from './execution-stage.ts';

/** Jobs with a failing provider: all kinds of jobs behave in the same way. */

const SECOND_MS = 1_000;
const STEP_MS = 5 * SECOND_MS;

// A turn count does not see that a handler loads its code.
beforeAll(() =>
  Promise.all([
    import('../../functions/groups/embeddings/jobs/run-embedding-job.ts'),
    import('../../functions/groups/providers/jobs/run-provider-job.ts'),
    import('../../functions/groups/rag/jobs/run-rag-job.ts'),
    import('../../functions/groups/retrieval/jobs/run-retrieval-job.ts'),
  ]),
);

const begin = (kind: string): Promise<PatientJob> => {
  const begins = patientJobs[kind];
  if (begins === undefined) throw new Error(`no such job: ${kind}`);
  return begins(new MemoryStore(new MemoryDatabase()));
};

/** Lets time pass until the job has ended; answers how it did. */
async function ended({ stage, state, stop }: PatientJob, mostMs: number) {
  const end = stage.time.now + mostMs;
  for (;;) {
    for (let pauses = 0; pauses < 20; pauses += 1) await stage.quiet();
    const { isOver, ...job } = await state();
    if (isOver || stage.time.now >= end) {
      await stop();
      return { ...job, isOver };
    }
    stage.time.advance(STEP_MS);
  }
}

test('every job of the catalogue either calls no provider or is tested here', async () => {
  const service = await startService();
  try {
    const all = [...(await builtInHandlers(service))].sort();
    expect([...Object.keys(patientJobs), ...FREE_HANDLERS].sort()).toEqual(all);
  } finally {
    await service.close();
  }
});

describe.each(Object.keys(patientJobs))('a job %s', (kind) => {
  test.each(Object.entries(PASSING))('waits while its provider fails by %s', async (_, failure) => {
    const job = await begin(kind);
    const { stage, provider, answers } = job;
    const wellAt = stage.time.now + 22 * SECOND_MS;
    // All that can be answered before is.
    provider.failure = (now) => (provider.answered < answers / 2 || now >= wellAt ? null : failure);
    if (answers === 1) provider.failure = (now) => (now >= wellAt ? null : failure);
    await job.start();
    expect(await ended(job, PATIENCE_MS)).toMatchObject({ status: 'succeeded' });
    expect(provider.failed.length).toBeGreaterThan(0);
    const { failureClass, providerStatus: code } = failure;
    const [failedAt = 0] = provider.failed;
    // For any number of failures, the log has one line for the first and one for the end.
    expect(stage.logged).toEqual([
      expect.objectContaining({
        severity: 'WARNING',
        handlerId: kind,
        runId: expect.stringMatching(/./) as string,
        failureClass,
        code,
        patienceEndsAt: formatUtc(failedAt + PATIENCE_MS),
      }),
      expect.objectContaining({ severity: 'INFO', handlerId: kind, count: provider.failed.length }),
    ]);
    // No text is paid for twice.
    expect([provider.answered, ...new Set(provider.paid.values())]).toEqual([answers, 1]);
  });

  test('ends once its provider has failed for as long as it waits, and not before', async () => {
    const job = await begin(kind);
    job.provider.failure = () => PASSING['status 503'] ?? null;
    await job.start();
    const { status, failureClass } = await ended(job, 2 * PATIENCE_MS);
    expect([status, failureClass]).toEqual(['failed', 'provider_unavailable']);
    const { failed } = job.provider;
    const [first = 0, second = 0] = failed;
    const last = failed.at(-1) ?? 0;
    expect(last - first).toBeGreaterThanOrEqual(PATIENCE_MS);
    expect(last - first).toBeLessThanOrEqual(PATIENCE_MS + 2 * STEP_MS);
    expect(job.stage.logged.map(({ severity }) => severity)).toEqual(['WARNING']);
    // The waits grow to a minute, so the provider is asked some twenty times.
    expect(second - first).toBeLessThanOrEqual(2 * STEP_MS);
    expect(failed.length).toBeGreaterThan(15);
    expect(failed.length).toBeLessThan(40);
  });

  test('ends at once by a permanent failure', async () => {
    const job = await begin(kind);
    job.provider.failure = () => new ProviderFailure('auth', 'http_401', 'no right');
    await job.start();
    const { isOver } = await ended(job, STEP_MS);
    expect(isOver).toBe(true);
    expect(job.provider.failed.length).toBeLessThanOrEqual(job.answers);
    expect(job.stage.logged).toEqual([]);
  });

  test('restarts its patience after each answer', async () => {
    const job = await begin(kind);
    const { stage, provider, answers } = job;
    // Two failures of ten minutes are more than the patience, and the provider answers between them.
    const begunAt = stage.time.now;
    const awayMs = 10 * 60 * SECOND_MS;
    provider.failure = (now) => {
      const isAway = now - begunAt < awayMs * Math.min(2, provider.answered + 1);
      return isAway ? (PASSING['no connection'] ?? null) : null;
    };
    await job.start();
    expect(await ended(job, 3 * awayMs)).toMatchObject({ status: 'succeeded' });
    expect(provider.answered).toBe(answers);
    const rows = Math.min(2, answers);
    expect(stage.logged.map(({ severity }) => severity)).toEqual(
      Array.from({ length: rows }, () => ['WARNING', 'INFO']).flat(),
    );
  });
});
