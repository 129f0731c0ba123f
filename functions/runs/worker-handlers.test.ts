import { expect, test } from 'vitest';
import type { LogEvent } from '../kernel/log.ts';
import { describeHandler, HandlerRegistry } from './handler-registry.ts';
import {
  LEARNT_MAX,
  LEARNT_PER_OWNER_MAX,
  LINES_MAX,
  LINES_PER_CALLER_MAX,
  WorkerHandlers,
} from './worker-handlers.ts';

const settings = { accepts: 'Accepts', named: 'Named' };

function stage(accepts: boolean) {
  const registry = new HandlerRegistry();
  registry.addExternal(describeHandler({ handlerId: 'known', maxAttempts: 3 }));
  registry.addBuiltIn({ pluginId: 'svc', name: 'svc', version: '1' }, [
    describeHandler({ handlerId: 'svc.job' }),
  ]);
  const lines: LogEvent[] = [];
  let now = 0;
  const tools = { clock: { now: () => now }, log: (event: LogEvent) => void lines.push(event) };
  const handlers = new WorkerHandlers(registry, tools, { accepts, settings });
  const name = (ids: readonly string[], caller = 'a', owners = ['acme']) =>
    handlers.named({ workerId: 'w', handlerIds: ids, caller, owners });
  return { registry, lines, handlers, name, pass: (ms: number) => void (now += ms) };
}

const ids = (count: number, prefix = 'h') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

test('a handler of the settings is known, and keeps its definition', () => {
  const { registry, name, lines } = stage(true);
  expect(name(['known'])).toEqual({ unknown: [], isNews: false });
  expect(registry.get('known')?.maxAttempts).toBe(3);
  expect(lines).toEqual([]);
});

test('where handlers of workers are accepted, they are added with their defaults', () => {
  const { registry, name, handlers } = stage(true);
  expect(name(['new'])).toEqual({ unknown: [], isNews: false });
  expect(registry.startable('new', false)).toMatchObject({
    kind: 'external',
    maxAttempts: 1,
    pluginId: null,
  });
  expect(handlers.advice).toBe('start a worker that names it (Accepts is true)');
});

test('a handler of the service is never added for a worker', () => {
  const { registry, name } = stage(true);
  expect(name(['svc.job', 'svc.other']).unknown).toEqual(['svc.job', 'svc.other']);
  expect(registry.get('svc.job')?.kind).toBe('process');
});

test('the handlers that one tenant adds are bounded, and those of all', () => {
  const { name, registry } = stage(true);
  expect(name(ids(LEARNT_PER_OWNER_MAX)).unknown).toEqual([]);
  expect(name(['one-more']).unknown).toEqual(['one-more']);
  for (let tenant = 1; tenant < LEARNT_MAX / LEARNT_PER_OWNER_MAX; tenant += 1)
    expect(name(ids(LEARNT_PER_OWNER_MAX, `t${tenant}-`), 'a', [`t${tenant}`]).unknown).toEqual([]);
  expect(name(['last'], 'a', ['fresh']).unknown).toEqual(['last']);
  // All that were added stay known.
  expect(name(['h0', 't1-0']).unknown).toEqual([]);
  expect(registry.handlers).toHaveLength(LEARNT_MAX + 1);
});

test('elsewhere an unknown handler stays unknown, and one line names it and the setting', () => {
  const { registry, name, lines, handlers } = stage(false);
  expect(name(['known', 'new'])).toEqual({ unknown: ['new'], isNews: true });
  expect(name(['known', 'new'])).toEqual({ unknown: ['new'], isNews: false });
  expect(registry.get('new')).toBeUndefined();
  expect(lines).toEqual([
    {
      severity: 'WARNING',
      message: 'The worker "w" asks for runs of "new", and gets none: add what workers execute to Named',
    },
  ]);
  expect(handlers.advice).toBe('start a worker that names it, and add it to Named');
});

test('the lines of one caller are bounded, and those of all; both begin anew after ten minutes', () => {
  const { name, lines, pass } = stage(false);
  for (const id of ids(LINES_PER_CALLER_MAX + 5)) name([id]);
  expect(lines).toHaveLength(LINES_PER_CALLER_MAX);
  for (let caller = 0; caller < 30; caller += 1)
    for (const id of ids(LINES_PER_CALLER_MAX)) name([id], `c${caller}`);
  expect(lines).toHaveLength(LINES_MAX);
  pass(10 * 60_000);
  expect(name(['h0']).isNews).toBe(true);
  expect(lines).toHaveLength(LINES_MAX + 1);
});
