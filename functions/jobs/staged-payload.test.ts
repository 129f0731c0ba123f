import { expect, test, vi } from 'vitest';
import { ServiceError } from '../kernel/errors.ts';
import { CANCELLED } from '../runs/cancellation.ts';
import { RunFailure } from '../runs/plugin.ts';
import type { JobContext } from './job-plugin.ts';
import { withStaged } from './staged-payload.ts';

class Classed extends Error {
  readonly failureClass = 'quota';
}

type Context = Pick<JobContext, 'job' | 'payload' | 'signal' | 'report'>;

function stage({ reason, hasRun = true }: { reason?: unknown; hasRun?: boolean } = {}) {
  const controller = new AbortController();
  if (reason !== undefined) controller.abort(reason);
  const discard = vi.fn(() => Promise.resolve());
  const report = () => (hasRun ? Promise.resolve() : Promise.reject(new Error('another worker has it')));
  const job = { space: 's' };
  const context = { job, payload: { staged: 'r' }, signal: controller.signal, report } as unknown as Context;
  return { context, discard };
}

const refusal = new ServiceError('not_found', 'It is gone.');
const leaseLost = new ServiceError('lease_stale', 'Another worker has the run.');
const stopped = new DOMException('The worker stops', 'AbortError');

test('the staged request is discarded once the work is done', async () => {
  const { context, discard } = stage();
  expect(await withStaged({ discard }, context, { work: () => Promise.resolve(1) })).toBe(1);
  expect(discard).toHaveBeenCalledExactlyOnceWith('s', 'r');
});

test('a request that is not staged needs no removal', async () => {
  const { context, discard } = stage();
  await withStaged({ discard }, { ...context, payload: {} }, { work: () => Promise.resolve(1) });
  expect(discard).not.toHaveBeenCalled();
});

test.each([
  { end: 'a refusal', error: refusal, discards: 1 },
  { end: 'a refusal in a run that another worker has', error: refusal, hasRun: false, discards: 0 },
  { end: 'a lost lease', error: leaseLost, discards: 0 },
  { end: 'a fault', error: new Error('a fault'), discards: 0 },
  { end: 'a fault in a cancelled run', error: new Error('a fault'), reason: CANCELLED, discards: 1 },
  { end: 'a failure of the run', error: new RunFailure('schema', 'no'), discards: 1 },
  { end: 'an interrupted call of a model', error: new Classed(), reason: stopped, discards: 0 },
])('after $end the request is discarded $discards times', async ({ error, discards, ...given }) => {
  const { context, discard } = stage(given);
  const work = () => Promise.reject(error);
  await expect(withStaged({ discard }, context, { work, failure: Classed })).rejects.toBe(error);
  expect(discard).toHaveBeenCalledTimes(discards);
});

test('an error of the named class ends the run under its failure class', async () => {
  const { context, discard } = stage();
  const error = new Classed('spent');
  const work = () => Promise.reject(error);
  const failed = withStaged({ discard }, context, { work, failure: Classed });
  await expect(failed).rejects.toMatchObject({ failureClass: 'quota', message: 'spent', cause: error });
  expect(discard).toHaveBeenCalledOnce();
});
