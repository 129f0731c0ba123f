import { afterEach, expect, test } from 'vitest';
import { machine } from '../compose/machine.ts';
import { StoreError } from '../store/port.ts';
import { providerGuard } from './provider-guard.ts';
import type { RegisteredProvider } from './registered.ts';
import { PROVIDER_GONE } from './rules/outcome.ts';
import { RUN_LIMITS } from './rules/run-limits.ts';
import { closeServer, completion, Instance, runOf, server } from './run-capability.fixture.ts';
import { type CapabilityParts, runCapability } from './run-capability.ts';
import { dyingBehindAnswers, Memory } from './run-memory.fixture.ts';
import type { RunMemory } from './run-memory.ts';

/** The number of calls to the provider by a run whose executions are interrupted. */

afterEach(closeServer);

/** A provider with a guard whose store fails for a moment. */
function unguarded({ target, live }: RegisteredProvider, { world }: Instance): RegisteredProvider {
  if (live === null) throw new Error('the provider is local');
  const store = () => Promise.reject(new StoreError('contention', 'others were first'));
  const limits = { callsPerMinute: 10, tokensPerDayMax: null, spaceSharePercent: 100 };
  const guard = providerGuard({ store, clock: world.clock, provider: 'mine', limits });
  return { target, live: { ...live, guard } };
}

/** No two executions have the same random bytes. */
function partsOf({ parts, world: { clock, timers } }: Instance): CapabilityParts {
  return { ...parts, world: { clock, timers, random: machine.random } };
}

test('an execution whose request was never sent counts as no call, however often the store fails', async () => {
  const instance = new Instance();
  const provider = await instance.remote(completion('Hi'));
  const memory = new Memory();
  const run = runOf({}, { memory });
  // The run was admitted once, so the window counts it once, also when it is resumed several times.
  const parts = { ...instance.parts, limits: { ...RUN_LIMITS, maxRunsPerWindow: 1 } };
  for (let execution = 0; execution < 5; execution += 1)
    await expect(runCapability(parts, unguarded(provider, instance), run)).rejects.toThrow(
      'others were first',
    );
  expect([server?.received.length, memory.kept.has('calls')]).toEqual([0, false]);
  const { outcome } = await runCapability(parts, provider, run);
  expect([outcome.status, server?.received.length]).toEqual(['Succeeded', 1]);
});

test('no request is sent before it is counted', async () => {
  const instance = new Instance();
  const provider = await instance.remote(completion('Hi'));
  const failing: RunMemory = {
    read: () => Promise.resolve(null),
    write: (key) =>
      key === 'calls'
        ? Promise.reject(new StoreError('unavailable', 'the store is away'))
        : Promise.resolve(),
  };
  const run = runOf({}, { memory: failing });
  await expect(runCapability(instance.parts, provider, run)).rejects.toThrow('the store is away');
  expect(server?.received).toEqual([]);
});

test('a worker that lost its run does not free the place of the worker that resumed it', async () => {
  const instance = new Instance();
  const parts = partsOf(instance);
  const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const [first, second] = arrived;
  const provider = await instance.remote(
    () => first.resolve(),
    () => second.resolve(),
    completion('Hi'),
  );
  const run = runOf({}, { memory: new Memory() });
  const [lost, held] = [new AbortController(), new AbortController()];
  const before = runCapability(parts, provider, { ...run, signal: lost.signal });
  await first.promise;
  const after = runCapability(parts, provider, { ...run, signal: held.signal });
  await second.promise;
  lost.abort();
  await expect(before).rejects.toMatchObject({ failureClass: 'cancelled' });
  const other = () => runCapability(parts, provider, runOf());
  expect((await other()).outcome.providerStatus).toBe('concurrency_queue_timeout');
  held.abort();
  await expect(after).rejects.toMatchObject({ failureClass: 'cancelled' });
  expect((await other()).outcome.status).toBe('Succeeded');
});

test('an answer that is kept frees the place of the worker that died with it', async () => {
  const instance = new Instance();
  const parts = partsOf(instance);
  const arrived = Promise.withResolvers<void>();
  const provider = await instance.remote(() => arrived.resolve(), completion('Hi'));
  const memory = new Memory();
  const run = runOf({}, { memory });
  const stop = new AbortController();
  const dead = runCapability(parts, provider, { ...run, signal: stop.signal });
  await arrived.promise;
  memory.kept.set('response', { outcome: { ...PROVIDER_GONE }, usage: null });
  await runCapability(parts, provider, run);
  expect((await runCapability(parts, provider, runOf())).outcome.status).toBe('Succeeded');
  stop.abort();
  await expect(dead).rejects.toThrow();
});

test('answers that are lost twice are not asked for a third time', async () => {
  const instance = new Instance();
  const provider = await instance.remote(completion('Hi'));
  const memory = new Memory();
  const dying = dyingBehindAnswers(memory);
  const run = runOf();
  for (let execution = 0; execution < 2; execution += 1)
    await expect(runCapability(instance.parts, provider, { ...run, memory: dying })).rejects.toThrow('died');
  const { outcome } = await runCapability(instance.parts, provider, { ...run, memory });
  expect([outcome.providerStatus, server?.received.length]).toEqual(['answer_lost', 2]);
});
