import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CanonicalPreflightReport } from '../../contracts/generated/models.ts';
import { responseValidators } from '../../contracts/generated/validators/canonical.js';
import { machine } from '../../functions/compose/machine.ts';
import type { CanonicalDependencies } from '../../functions/groups/canonical/dependencies.ts';
import { flaws, merged } from '../../functions/groups/canonical/preflight/preflight-flaws.fixture.ts';
import {
  type Around,
  eachOf,
  surrounded,
} from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import { tenantCollections, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { LogEvent } from '../../functions/kernel/log.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { callAt, handlersOver, refused, START } from '../support/canonical.ts';
import { ManualWorld } from '../support/manual-world.ts';
import type { Conformance } from './canonical-suite.ts';

const nothing = { params: {}, query: {}, body: null };
const checkIds = ['canonical.archive_restore', 'canonical.tenant_isolation', 'canonical.probe_cleanup'];
const all = {
  'canonical.archive_restore': true,
  'canonical.tenant_isolation': true,
  'canonical.probe_cleanup': true,
};

/** A report and the log must not hold a tenant, a hash, a payload's marker or a word of an error. */
const secret = /svc-preflight|[0-9a-f]{32}|tenantId|contentHash|postgres:|hunter2/;

class Operator {
  readonly lines: LogEvent[] = [];
  readonly tenants = new Set<string>();
  readonly seen: string[] = [];
  readonly #handlers;

  /** Every call of the operator passes `around`. */
  constructor(
    store: RecordStore,
    around: Around = (_, perform) => perform(),
    changes: Partial<CanonicalDependencies> = {},
  ) {
    const open = surrounded(store, async (call, perform) => {
      this.seen.push(call.verb);
      if (call.scope?.kind === 'tenants') this.tenants.add(call.scope.name);
      return around(call, perform);
    });
    const log = (event: LogEvent) => void this.lines.push(event);
    this.#handlers = handlersOver(store, { now: START }, { store: open, log, ...changes });
  }

  look() {
    return this.#handlers.preflightCanonicalStore(nothing, callAt(START));
  }

  /** The answer, held against its model. */
  async probe(signal?: AbortSignal) {
    const answer = await this.#handlers.probeCanonicalStoreDataPlane(nothing, callAt(START, signal));
    const validator = responseValidators[`probeCanonicalStoreDataPlane:${answer.status}`];
    expect(validator(JSON.parse(JSON.stringify(answer.body))), JSON.stringify(validator.errors)).toBe(true);
    expect(JSON.stringify([answer.body, this.lines])).not.toMatch(secret);
    return answer;
  }

  async outcome() {
    const { status, body } = await this.probe();
    expect(status).toBe(body.dataPlaneProbe?.ready === true ? 200 : 503);
    return outcomeOf(body);
  }
}

function outcomeOf({ dataPlaneProbe: probe }: CanonicalPreflightReport): Record<string, boolean> {
  expect(probe?.checks.map(({ id }) => id)).toEqual(checkIds);
  const passed = Object.fromEntries((probe?.checks ?? []).map(({ id, status }) => [id, status === 'passed']));
  expect([probe?.backupRestoreVerified, probe?.tenantIsolationVerified, probe?.cleanupVerified]).toEqual(
    Object.values(passed),
  );
  const ready = Object.values(passed).every(Boolean);
  expect([probe?.ready, probe?.status]).toEqual([ready, ready ? 'passed' : 'failed']);
  return passed;
}

async function leftIn(store: RecordStore, tenants: Iterable<string>): Promise<number> {
  const collections = tenantCollections.map(({ name }) => name);
  let left = 0;
  for (const tenant of tenants) {
    for await (const { records } of store.scan(tenantScope(tenant), { collections, pageSize: 10 }))
      left += records.length;
  }
  return left;
}

const broken = () => new StoreError('unavailable', 'postgres://admin:hunter2@db/svc-preflight-00-a is away');

export function describePreflight({ store }: Conformance): void {
  describe('preflight', () => {
    it('reports the configuration, reads the ledger and writes nothing', async () => {
      const operator = new Operator(store());
      const { status, body } = await operator.look();
      expect(status).toBe(200);
      expect(body).toEqual({
        store: store().provider,
        provider: 'test',
        authenticationMode: 'none',
        tenantPoliciesEnforced: false,
        identityPolicyCount: 0,
        migrationReceiptCount: body.migrationReceiptCount,
        rateLimitPermitLimit: 1,
        rateLimitWindowSeconds: 1,
        requiredOperations: ['read', 'write', 'dispatch', 'export', 'restore', 'admin'],
        dataPlaneProbe: null,
      });
      expect(operator.seen).toEqual(['open', 'query']);
    });

    it.each<[string, Around]>([
      ['cannot be opened', (call, perform) => (call.verb === 'open' ? Promise.reject(broken()) : perform())],
      ['cannot be read', (call, perform) => (call.verb === 'query' ? Promise.reject(broken()) : perform())],
      [
        'breaks in an unforeseen way',
        (call, perform) => (call.verb === 'query' ? Promise.reject(new TypeError('hunter2')) : perform()),
      ],
    ])('is unavailable where the ledger %s, and then nothing is probed', async (_, around) => {
      const operator = new Operator(store(), around);
      for (const call of [operator.look(), operator.probe()]) {
        const error = await refused('unavailable', call);
        expect(JSON.stringify([error.message, error.extensions])).not.toMatch(secret);
      }
      expect([...operator.tenants]).toEqual([]);
    });
  });

  describe('the probe', () => {
    it('passes, removes all that it wrote, and shows no written value', async () => {
      const operator = new Operator(store());
      const before = (await operator.look()).body;
      const { status, body } = await operator.probe();
      expect(status).toBe(200);
      expect(outcomeOf(body)).toEqual(all);
      expect({ ...body, dataPlaneProbe: null }).toEqual(before);
      expect(body.dataPlaneProbe).toMatchObject({
        profile: 'svc.canonical.data-plane-preflight.v1',
        scope: 'isolated_ephemeral_tenants',
        checkedAtUtc: new Date(START).toISOString(),
        // The head line, and a line for each of the four records of a seed: none of them is shorter than a chunk.
        archiveChunkCount: 5,
      });
      const tenants = [...operator.tenants].sort();
      expect(tenants).toEqual([
        expect.stringMatching(/^svc-preflight-[0-9a-f]{32}-a$/),
        tenants[0]?.replace(/a$/, 'b'),
      ]);
      expect(await leftIn(store(), tenants)).toBe(0);
      expect((await operator.look()).body).toEqual(before);
      expect(operator.lines).toEqual([]);
    });

    it('does not disturb another one', async () => {
      const operators = Array.from({ length: 4 }, () => new Operator(store()));
      expect(await Promise.all(operators.map((operator) => operator.outcome()))).toEqual([
        all,
        all,
        all,
        all,
      ]);
      expect(new Set(operators.flatMap(({ tenants }) => [...tenants])).size).toBe(8);
    });

    it.each(flaws)('finds a store that $what', async ({ flawed, failing }) => {
      const operator = new Operator(flawed(store()));
      expect(await operator.outcome()).toEqual({
        ...all,
        ...Object.fromEntries(failing.map((id) => [id, false])),
      });
      await emptyAll(store(), operator.tenants);
    });
  });

  describeFailures(store);
}

function describeFailures(store: () => RecordStore): void {
  describe('the probe of a store that fails', () => {
    // Whether the failing call did its work before is the store's secret.
    it.each(['before', 'after'])(
      'at any one call, %s its work: says so, and leaves nothing',
      async (moment) => {
        const healthy = new Operator(store());
        await healthy.probe();
        expect(healthy.seen.length).toBeGreaterThan(20);
        for (let number = 2; number < healthy.seen.length; number++) {
          const operator = new Operator(store(), async (call, perform) => {
            if (call.number !== number) return perform();
            if (moment === 'after') await perform();
            throw broken();
          });
          const outcome = await operator.outcome();
          expect(Object.values(outcome), `call ${number}`).toContain(false);
          expect(operator.lines.length).toBeGreaterThan(0);
          expect(await leftIn(store(), operator.tenants), `call ${number}`).toBe(0);
        }
      },
    );

    it('from some call on: every check that counts on it fails', async () => {
      for (const number of [2, 9, 20]) {
        const operator = new Operator(store(), (call, perform) =>
          call.number < number ? perform() : Promise.reject(broken()),
        );
        expect(Object.values(await operator.outcome())).toEqual([false, false, false]);
        await emptyAll(store(), operator.tenants);
      }
    });

    it('by never answering a call of the trial: gives it up, empties both tenants, and vouches for nothing', async () => {
      const manual = new ManualWorld();
      const hung = Promise.withResolvers<void>();
      const operator = new Operator(
        store(),
        (call, perform) => {
          if (call.number !== 7) return perform();
          hung.resolve();
          return new Promise(() => undefined);
        },
        { world: { ...machine, timers: manual.timers } },
      );
      const outcome = operator.outcome();
      await hung.promise;
      manual.advance(60_000);
      await turn();
      manual.advance(5_000);
      expect(Object.values(await outcome)).toEqual([false, false, false]);
      expect(await leftIn(store(), operator.tenants)).toBe(0);
    });

    it('by never answering the cleanup: the probe ends all the same', async () => {
      const manual = new ManualWorld();
      const hung = Promise.withResolvers<void>();
      let swaps = 0;
      const operator = new Operator(
        store(),
        (call, perform) => {
          if (call.verb !== 'swap' || ++swaps === 1) return perform();
          hung.resolve();
          return new Promise(() => undefined);
        },
        { world: { ...machine, timers: manual.timers } },
      );
      const outcome = operator.outcome();
      await hung.promise;
      manual.advance(60_000);
      expect(await outcome).toEqual({ ...all, 'canonical.probe_cleanup': false });
      expect(manual.pendingTimers).toBe(0);
      await emptyAll(store(), operator.tenants);
    });

    it('empties both tenants before it ends, also when its client goes away at any time', async () => {
      const healthy = new Operator(store());
      await healthy.probe();
      for (const number of [1, 2, 3, 8, 14, healthy.seen.length - 1]) {
        const client = new AbortController();
        const operator = new Operator(store(), async (call, perform) => {
          const answer = await perform();
          if (call.number === number) client.abort(new Error('gone'));
          return answer;
        });
        await expect(operator.probe(client.signal)).rejects.toThrow('gone');
        expect(await leftIn(store(), operator.tenants), `call ${number}`).toBe(0);
        // The caller cancelled the trial; the log must not report a failure of the store.
        expect(operator.lines).toEqual([]);
        if (number === 1) expect(operator.tenants.size).toBe(0);
        // The step under way ends, at most one more starts, and then six calls empty both tenants and check them.
        expect(operator.seen.length).toBeLessThanOrEqual(number + 1 + 3 + 6);
      }
    });
  });
}

async function emptyAll(store: RecordStore, tenants: Iterable<string>): Promise<void> {
  for (const name of tenants) {
    for (const scope of [tenantScope(name), merged(tenantScope(name))])
      await store.swap(scope, eachOf([]), () => undefined);
  }
}
