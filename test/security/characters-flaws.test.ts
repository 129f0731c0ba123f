import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';
import { patienceMs } from '../support/effort.ts';
import { costFaults, trialFaults, tryAll } from './characters.ts';
import { type CharactersWorld, grow, startCharacters } from './characters-world.ts';
import { type Call } from './party.ts';
import { allEntries } from './target.ts';

/** The oracles of the characters find planted bugs. */

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

const entryOf = (id: string) => allEntries.find((entry) => entry.id === id) as OperationEntry;
const some = ['commitCanonicalTransaction', 'readCanonicalDocument', 'getExecutionRun', 'startExecutionRun'];
const entries = some.map(entryOf);

describe('the characters find', () => {
  let world: CharactersWorld;
  beforeAll(async () => {
    world = await startCharacters();
  });
  afterAll(() => world.close());

  const isNamed = (headers: unknown, name: string) =>
    (headers as readonly (readonly [string, string])[]).some(([each]) => each === name);
  const faultsWith = async (plant: (call: Call) => Call, tried = entries) => {
    const trials = await tryAll({ world, entries: tried, call: plant(world.service.call) });
    return trials.flatMap(trialFaults).join('\n');
  };
  const asVictim = (request: Parameters<Call>[0]) => ({
    ...request,
    headers: [
      ...(request.headers as readonly (readonly [string, string])[]).filter(
        ([name]) => name !== 'Authorization',
      ),
      ...Object.entries(world.victim.headers),
    ],
  });

  test('nothing in the service as it is', async () => {
    expect(await faultsWith((call) => call)).toBe('');
  });

  test('a stranger who is taken for the victim', async () => {
    const faults = await faultsWith(
      (call) => (request) => call(isNamed(request.headers, 'Authorization') ? request : asVictim(request)),
    );
    expect(faults).toMatch(/readCanonicalDocument as stranger: answered 200/);
    expect(faults).toMatch(/readCanonicalDocument as stranger: learned mark-victim/);
    expect(faults).toMatch(/commitCanonicalTransaction as stranger: changed \d+ rows/);
    expect(faults).not.toMatch(/as neighbour/);
  });

  test('a neighbour who is taken for the victim', async () => {
    const faults = await faultsWith((call) => (request) => {
      const named = `${request.path}${JSON.stringify(request.body ?? '')}`.includes(world.victim.tenantId);
      return call(named && isNamed(request.headers, 'Authorization') ? asVictim(request) : request);
    });
    expect(faults).toMatch(/readCanonicalDocument as neighbour: learned mark-victim/);
    expect(faults).toMatch(/commitCanonicalTransaction as neighbour: changed \d+ rows/);
  });

  test('a refusal that repeats the data of the victim', async () => {
    const faults = await faultsWith((call) => async (request) => {
      const answer = await call(request);
      return answer.status < 400 ? answer : { ...answer, body: `${answer.body}${world.victim.mark}` };
    });
    expect(faults).toMatch(/getExecutionRun as without rights: learned mark-victim/);
  });

  test('a write behind a refusal', async () => {
    const faults = await faultsWith((call) => async (request) => {
      if (request.path.endsWith('/transactions')) await call(asVictim(request));
      return call(request);
    });
    expect(faults).toMatch(/commitCanonicalTransaction as without rights: changed \d+ rows/);
    expect(faults).not.toMatch(/getExecutionRun as/);
  });

  test('an operation to come that names something unknown, or that the neighbour cannot call', async () => {
    const base = entryOf('readCanonicalDocument');
    const routes = base.routes.map((route) => ({
      ...route,
      path: [...route.path, ...route.path.map((spec) => ({ ...spec, name: 'parcelId' }))],
    }));
    const stray = { ...base, id: 'readParcel', routes } as unknown as OperationEntry;
    await expect(faultsWith((call) => call, [stray])).rejects.toThrow(
      'characters-requests.ts must say which parcelId',
    );
    const refused = { ...entryOf('preflightCanonicalStore'), accessOperation: 'read' };
    expect(await faultsWith((call) => call, [refused])).toMatch(
      /on its own: answered 403 \(characters-requests/,
    );
  });
});

test('the characters find a list that reads the records of all tenants', async () => {
  const scanning = (store: RecordStore): RecordStore => {
    const query = async (
      scope: Scope,
      selection: { readonly by: string; readonly collection?: { name: string } },
    ) => {
      if (selection.by === 'list' && selection.collection !== undefined)
        for await (const _ of store.scan(scope, { collections: [selection.collection.name], pageSize: 100 }));
      return store.query(scope, selection as Parameters<RecordStore['query']>[1] & { by: 'list' });
    };
    return patched(store, { query: query as unknown as RecordStore['query'] });
  };
  const worlds = [
    await startCharacters({ plant: scanning }),
    await startCharacters({ plant: scanning }),
  ] as const;
  const [one, other] = worlds;
  await grow(one.service.call, one.victim, 5);
  await grow(other.service.call, other.victim, 50);
  const listing = [entryOf('listExecutionRuns')];
  const [small, large] = await Promise.all(
    worlds.map((world) => tryAll({ world, entries: listing, call: world.service.call })),
  );
  expect(costFaults(small ?? [], large ?? [])).toContainEqual(
    expect.stringMatching(/^listExecutionRuns as neighbour on its own: \d+ reads, and \d+ where/),
  );
  for (const world of worlds) await world.close();
});
