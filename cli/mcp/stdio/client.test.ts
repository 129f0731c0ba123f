import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type ClientEnd, type ClientParts, serveClient } from './client.ts';

/** One client whose reading and whose time go on when the test says so. */

interface Wait {
  readonly milliseconds: number;
  readonly end: () => void;
}

function stage(given: Partial<ClientParts> = {}) {
  const input = new PassThrough();
  const stopper = new AbortController();
  const logged: string[] = [];
  const lines: string[] = [];
  const waits: Wait[] = [];
  const open: (() => void)[] = [];
  let isReading = false;
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  /** Resolves once what the client sees, or a wait of the process, makes it true. */
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await changed.promise;
  };
  const parts: ClientParts = {
    input,
    post: (_, __, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    write: (line) =>
      new Promise((resolve) => {
        lines.push(line);
        if (isReading) resolve();
        else open.push(resolve);
        change();
      }),
    log: (text) => {
      logged.push(text);
      change();
    },
    pause: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        waits.push({ milliseconds, end: resolve });
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        change();
      }),
    ...given,
  };
  const read = () => {
    isReading = true;
    for (const resolve of open.splice(0)) resolve();
  };
  const ended: Promise<ClientEnd> = serveClient(parts, stopper.signal);
  return { input, stop: () => stopper.abort(), logged, lines, waits, until, read, ended };
}

const request = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';

describe('a client that reads nothing', () => {
  test('is left after the time for its requests and that for their answers', async () => {
    const { input, waits, until, ended, lines } = stage();
    input.end(request);
    await until(() => waits.length === 1);
    waits[0]?.end();
    await until(() => waits.length === 2);
    expect(lines).toMatchObject([expect.stringContaining('was stopped before the answer')]);
    waits[1]?.end();
    expect(await ended).toBe('unread');
    expect(waits.map(({ milliseconds }) => milliseconds)).toEqual([30_000, 2_000]);
  });

  test('is left a short time after the signal', async () => {
    const { input, waits, until, ended, lines, stop } = stage();
    input.write(`x\n`);
    await until(() => lines.length === 1);
    stop();
    await until(() => waits.some(({ milliseconds }) => milliseconds === 2_000));
    waits.find(({ milliseconds }) => milliseconds === 2_000)?.end();
    expect(await ended).toBe('unread');
  });

  test('is not left while it has no answer to read', async () => {
    const { input, ended } = stage();
    input.end('\n');
    expect(await ended).toBe('answered');
  });

  test('sends its messages once it reads, and they are answered all', async () => {
    const { input, ended, lines, logged, until, read } = stage();
    const count = 20_000;
    input.end('x\n'.repeat(count));
    await until(() => logged.length === 1);
    expect(logged[0]).toContain('does not read');
    // The lines came in one piece: a reader that does not wait takes them all in this turn.
    await turn();
    const bytes = lines.reduce((sum, line) => sum + line.length + 1, 0);
    expect(bytes).toBeGreaterThanOrEqual(1_048_576);
    expect(bytes).toBeLessThan(1_048_576 + 1_000);
    read();
    expect(await ended).toBe('answered');
    expect([lines.length, logged.length]).toEqual([count, 1]);
  });

  test('may be stopped while its messages wait, and none of them is taken', async () => {
    const { input, ended, lines, logged, until, stop, waits } = stage();
    input.end('x\n'.repeat(20_000));
    await until(() => logged.length === 1);
    await turn();
    const before = lines.length;
    expect(before).toBeLessThan(20_000);
    stop();
    await until(() => waits.length === 2);
    waits[1]?.end();
    expect(await ended).toBe('unread');
    expect(lines).toHaveLength(before);
  });
});

test('a client that reads has the answers of a stop', async () => {
  const { input, ended, lines, read, stop, until } = stage({
    post: (_, __, signal) =>
      new Promise((_resolve, reject) => {
        stop();
        if (signal.aborted) reject(new Error('aborted'));
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  });
  read();
  input.write(request);
  await until(() => lines.length === 1);
  expect(await ended).toBe('answered');
  expect(lines[0]).toContain('was stopped');
});

test('a client that has closed its end stops everything, and nothing is left to write', async () => {
  const { input, ended } = stage({ write: () => Promise.reject(new Error('EPIPE')) });
  input.write(`${request}x\n`);
  expect(await ended).toBe('answered');
});
