import { expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { runsText, runText, stateOf } from './run-text.ts';

/** A run that waited twice and failed twice. */
const run = {
  id: '7',
  status: 'queued',
  handlerId: 'h',
  attempt: 5,
  maxAttempts: 3,
  failures: 2,
  requested: null,
  currentStep: null,
  cancellationRequested: false,
  completedAtUtc: null,
} as unknown as ExecutionRun;

test('failures count against the maximum, claims do not', () => {
  expect(runsText('table', [run])).toMatch(/STATUS +HANDLER +FAILURES +CLAIMS.*\n7 +queued +h +2 of 3 +5/);
  expect(runText('table', run)).toMatch(
    /^id +7\nstatus +queued\nfailures +2 of 3\nclaims +5\nhandler id +h\n/,
  );
  expect(stateOf(run)).toBe('queued, failures 2 of 3, claims 5');
  expect(JSON.parse(runText('json', run))).toMatchObject({ attempt: 5, maxAttempts: 3, failures: 2 });
});
