import { describe, expect, test } from 'vitest';
import { SvcClient, SvcError } from '../src/index.ts';
import { createWorker, type WorkerOptions } from '../src/worker/index.ts';
import { settleWorker } from '../src/worker/options.ts';

describe('options', () => {
  const good: WorkerOptions = {
    client: { baseUrl: 'http://127.0.0.1:1' },
    workerId: 'w',
    handlers: { a: () => 1 },
  };
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`h${n}`, () => null]));
  test.each<[string, Partial<WorkerOptions>, string]>([
    ['no name', { workerId: ' ' }, 'workerId'],
    ['no handler', { handlers: {} }, 'at least one'],
    ['too many handlers', { handlers: many }, 'more than 32'],
    ['a handler that is none', { handlers: { a: 'x' as never } }, 'a is not a function'],
    ['a blank id', { handlers: { ' a': () => 1 } }, 'white space'],
    ['no lease', { leaseSeconds: 0 }, 'leaseSeconds'],
    ['a lease of more than a day', { leaseSeconds: 86_401 }, 'leaseSeconds'],
    ['a lease that is no number', { leaseSeconds: Number.NaN }, 'leaseSeconds'],
    ['a heartbeat that is too late', { leaseSeconds: 10, heartbeatSeconds: 10 }, 'heartbeatSeconds'],
    ['no heartbeat', { heartbeatSeconds: 0 }, 'heartbeatSeconds'],
    ['no concurrency', { concurrency: 0 }, 'concurrency'],
    ['half of one', { concurrency: 1.5 }, 'concurrency'],
    ['a wait that the service refuses', { waitSeconds: 21 }, 'waitSeconds'],
    ['a long idle', { idleSeconds: 61 }, 'idleSeconds'],
    ['no bound of pauses', { backoffSecondsMax: 0 }, 'backoffSecondsMax'],
    ['another place', { heartbeatFrom: 'moon' as never }, 'heartbeatFrom'],
    [
      'a fetch that no thread has',
      { client: { baseUrl: 'http://127.0.0.1:1', fetch: () => Promise.reject(new Error()) } },
      'fetch of its own',
    ],
  ])('refuse %s', (_, options, message) => {
    expect(() => createWorker({ ...good, ...options })).toThrow(SvcError);
    expect(() => createWorker({ ...good, ...options })).toThrow(message);
  });

  test('have defaults', async () => {
    await using worker = createWorker(good);
    expect(worker.workerId).toBe('w');
    await expect(worker.deliver({ runId: ' ' })).rejects.toThrow('runId');
    await expect(worker.stop({ graceSeconds: -1 })).rejects.toThrow('graceSeconds');
    expect(settleWorker({ ...good, leaseSeconds: 30 })).toMatchObject({
      heartbeatMs: 10_000,
      waitMs: 20_000,
      concurrency: 1,
    });
    const client = new SvcClient({ baseUrl: 'http://127.0.0.1:1' }).withOptions({ timeout: 5 });
    expect(settleWorker({ ...good, client }).client).toBe(client);
  });
});
