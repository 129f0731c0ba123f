import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { patienceMs } from '../support/effort.ts';
import {
  BODY_BYTES_MAX,
  type Filler,
  HeldBytes,
  type MemoryTrial,
  memoryFaults,
  tryBodies,
} from './characters-memory.ts';
import { type CharactersWorld, startCharacters } from './characters-world.ts';
import { type Call } from './party.ts';
import { allEntries } from './target.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

const held = new HeldBytes();
vi.mock('../../functions/http/bytes-in-flight.ts', async (original) => {
  const real = await original<typeof import('../../functions/http/bytes-in-flight.ts')>();
  return {
    ...real,
    createBytesInFlight: (...given: Parameters<typeof real.createBytesInFlight>) =>
      held.watch(real.createBytesInFlight(...given)),
  };
});

let world: CharactersWorld;
const trials = new Map<Filler, readonly MemoryTrial[]>();
const fillers: readonly Filler[] = ['one long text', 'many small values'];
const bodiesOf = (call: Call, filler: Filler, entries = allEntries) =>
  tryBodies({ world, entries, held, filler, call });

beforeAll(async () => {
  world = await startCharacters();
  for (const filler of fillers) trials.set(filler, await bodiesOf(world.service.call, filler));
});
afterAll(() => world.close());

const faultsOf = (tried: readonly MemoryTrial[]) =>
  tried.flatMap((trial) => memoryFaults(trial, world.service.settings.server.bytesInFlightPerCallerMax));

describe.each(fillers)('a hostile body: %s', (filler) => {
  const routes = allEntries.flatMap((entry) => entry.routes.map(({ operationId }) => operationId));

  test.each(routes)('D13: %s, is not read before authorization, and is bounded behind it', (operationId) => {
    const tried = (trials.get(filler) ?? []).filter(({ name }) => name.split(' ')[0] === operationId);
    expect(tried.length).toBe(4);
    expect(faultsOf(tried)).toEqual([]);
  });

  test('is read and counted where the neighbour may send it', () => {
    const own = (trials.get(filler) ?? []).filter(({ character }) => character === 'neighbour on its own');
    const read = own.filter((trial) => trial.read > 0 && trial.held >= trial.read);
    expect(Math.max(...read.map(({ offered }) => offered))).toBe(BODY_BYTES_MAX);
    expect(read.length).toBeGreaterThan(5);
  });
});

test('the oracle finds a service that reads the body before it knows the caller', async () => {
  const entries = allEntries.filter(({ id }) => id === 'commitCanonicalTransaction');
  const early: Call = async (request) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request.body as AsyncIterable<Uint8Array>) chunks.push(chunk);
    return world.service.call({ ...request, body: Buffer.concat(chunks) });
  };
  const faults = faultsOf(await bodiesOf(early, 'one long text', entries)).join('\n');
  expect(faults).toMatch(/as stranger: 8388608 of 8388608 bytes are read behind 401/);
  expect(faults).toMatch(/as without rights: 8388608 of 8388608 bytes are read behind 403/);
  expect(faults).not.toMatch(/as neighbour on its own/);
});
