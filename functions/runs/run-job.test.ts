import { expect, test } from 'vitest';
import { retentionOwner } from './records.ts';
import { keyOwner, type RunJob, slotOwner } from './run-job.ts';

const caller = { kind: 'workload', principal: 'ada' } as const;

function jobOf(space: string, productId: string | null) {
  const scope = productId === null ? null : { productId, tenantId: space, serviceIdentity: 'ada' };
  const job: RunJob = {
    family: 'import',
    statusPath: '/jobs',
    space,
    subject: null,
    caller,
    requested: null,
  };
  return { scope, job };
}

test('slots and retention are shared by the jobs of a space, also across products', () => {
  const jobs = [jobOf('a', 'p'), jobOf('a', 'q'), jobOf('a', null)];
  const other = jobOf('b', 'p');
  for (const owner of [slotOwner, retentionOwner]) {
    expect(new Set(jobs.map(owner)).size).toBe(1);
    expect(owner(other)).not.toBe(owner(jobOf('a', 'p')));
  }
});

test('keys of jobs belong to their product and tenant', () => {
  const owners = [jobOf('a', 'p'), jobOf('a', 'q'), jobOf('a', null)].map(({ scope, job }) =>
    keyOwner(scope, job),
  );
  expect(new Set(owners).size).toBe(3);
});
