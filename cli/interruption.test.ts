import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { interruptible, type StopSignal } from './interruption.ts';
import { ToolError } from './output.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, fail) => signal.addEventListener('abort', () => fail(signal.reason as Error)));

test.each<[StopSignal, number]>([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])('%s ends the work, says how things stand, and gives %i', async (name, code) => {
  const source = new EventEmitter();
  const ended = interruptible('nothing was replaced', untilAborted, source);
  source.emit(name);
  await expect(ended).rejects.toMatchObject({ message: 'Interrupted: nothing was replaced', exitCode: code });
});

test('the second signal finds no listener of ours', async () => {
  const source = new EventEmitter();
  const ended = interruptible('x', untilAborted, source).catch(() => undefined);
  expect(source.listenerCount('SIGINT')).toBe(1);
  source.emit('SIGINT');
  expect(source.listenerCount('SIGINT')).toBe(0);
  await ended;
  expect(source.eventNames()).toEqual([]);
});

test('work that has ended all the same has its result', async () => {
  const source = new EventEmitter();
  const done = interruptible(
    'x',
    async () => {
      source.emit('SIGINT');
      return 'replaced';
    },
    source,
  );
  await expect(done).resolves.toBe('replaced');
  expect(source.eventNames()).toEqual([]);
});

test('a reason that was wrapped on its way is still an interruption', async () => {
  const source = new EventEmitter();
  const ended = interruptible(
    'x',
    async (signal) => {
      source.emit('SIGTERM');
      throw new Error('aborted', { cause: signal.reason });
    },
    source,
  );
  await expect(ended).rejects.toMatchObject({ exitCode: 143 });
});

test('another failure stays what it is', async () => {
  const source = new EventEmitter();
  const failure = new ToolError('disk full');
  const ended = interruptible(
    'x',
    async () => {
      source.emit('SIGINT');
      throw failure;
    },
    source,
  );
  await expect(ended).rejects.toBe(failure);
});
