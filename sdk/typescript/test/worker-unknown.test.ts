import { expect, test, vi } from 'vitest';
import { SvcClient } from '../src/index.ts';
import { createWorker, type WorkerLogEntry } from '../src/worker/index.ts';

/** The fields of the answers to the lease calls, one call each; the worker stops with the last one. */
async function workWith(fields: readonly (string | null)[], log?: (entry: WorkerLogEntry) => void) {
  const left = [...fields];
  const over = new AbortController();
  const fetch = () => {
    const field = left.shift() ?? null;
    if (left.length === 0) over.abort();
    const headers = field === null ? {} : { 'svc-unknown-handlers': field };
    return Promise.resolve(new Response(null, { status: 204, headers }));
  };
  const client = new SvcClient({ baseUrl: 'http://127.0.0.1:1', fetch });
  const worker = createWorker({
    client,
    workerId: 'w',
    handlers: { known: () => null, 'a, b': () => null },
    heartbeatFrom: 'event-loop',
    idleSeconds: 0,
    log,
    signal: over.signal,
  });
  await worker.run();
}

test('a handler that the service does not know is logged once, and again after it was known', async () => {
  const entries: WorkerLogEntry[] = [];
  const unknown = 'a%2C%20b';
  await workWith([unknown, unknown, null, `${unknown}, known`, unknown], (entry) => void entries.push(entry));
  expect(entries.map(({ level, handlerId }) => [level, handlerId])).toEqual([
    ['warning', 'a, b'],
    ['warning', 'a, b'],
    ['warning', 'known'],
  ]);
  expect(entries[0]?.message).toContain(
    'the setting ExecutionRuntime:ExternalHandlers of the service does not name it, or its grants and product policies exclude it; the log of the service says which',
  );
});

test('a worker without a log says it by a warning of the process', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    await workWith(['known', 'known']);
    expect(warn.mock.calls.map(([message]) => String(message))).toEqual([
      expect.stringContaining('does not know the handler known'),
    ]);
  } finally {
    warn.mockRestore();
  }
});
