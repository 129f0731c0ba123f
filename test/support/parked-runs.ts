import { createExecutionAccess } from '../../functions/identity/execution-access.ts';
import { RUNS, readRun, runKey, runRecord } from '../../functions/runs/records.ts';
import type { Run } from '../../functions/runs/run.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import { begun, HANDLER, leased, proofOf } from '../conformance/execution-stage.ts';
import { ExecutionClient, executionInstance, type InstanceOptions, ownScope } from './execution.ts';
import { ManualWorld } from './manual-world.ts';

export const DAY_MS = 86_400_000;
const OTHER = 'test.parked';
/** Runs that one transaction parks. */
const BATCH = 100;
const CEILING = { activeRunsMax: 1_000_000 };

const scopeOf = (tenantId: string) => ({ productId: 'p', tenantId });

/** A deployment whose store holds runs that wait for a timer; the measured runs are added to them. */
export class ParkedRuns {
  readonly world = new ManualWorld();
  readonly scope = ownScope();
  readonly client: ExecutionClient;
  readonly #store: RecordStore;

  constructor(store: RecordStore) {
    this.#store = store;
    this.client = this.clientOver(store);
  }

  clientOver(store: RecordStore, more: InstanceOptions = {}): ExecutionClient {
    const external = [{ handlerId: HANDLER }, { handlerId: OTHER }];
    const { world, scope } = this;
    return new ExecutionClient(
      executionInstance(store, { world, scope, external, options: CEILING, ...more }),
    );
  }

  /** A process whose caller sees, and works for, one tenant alone. */
  clientOf(tenantId: string, store: RecordStore, node: number): ExecutionClient {
    const operations = ['read_run', 'worker'] as const;
    const principal = `${tenantId}@example.test`;
    const grant = {
      principal,
      productId: 'p',
      workerId: 'w',
      tenantIds: [tenantId],
      handlerIds: [],
      operations,
    };
    const access = createExecutionAccess([grant]);
    const { instance } = this.clientOver(store, { node, access });
    return new ExecutionClient(instance, { kind: 'workload', principal });
  }

  /** Puts `counts` waiting runs of each tenant into the store, each like a run that really waits; `dueAt` of each. */
  async park(
    counts: Readonly<Record<string, number>>,
    dueAt: (at: number, count: number) => number,
  ): Promise<void> {
    const { proof, id } = await begun(this.client, { scope: scopeOf('model') });
    const fireAtUtc = new Date(this.world.now + DAY_MS).toISOString();
    await this.client.wait({ ...proof, kind: 'timer', name: 'later', fireAtUtc });
    const model = await this.#run(id);
    // The first list of a caller with grants adds the runs of earlier releases to the index, once.
    await this.clientOf('model', this.#store, 9).list();
    const { ids } = this.client.instance.runtime;
    const one = (tenantId: string, due: number): RecordData => {
      const own = ids.next();
      const wait = model.wait === null ? null : { ...model.wait, dueAt: due };
      const scope = { ...model.scope, ...scopeOf(tenantId) } as Run['scope'];
      return runRecord({ ...model, id: own, correlationId: own, scope, scheduledAt: due, wait });
    };
    const all: RecordData[] = [];
    for (const [tenantId, count] of Object.entries(counts))
      for (let at = 0; at < count; at += 1) all.push(one(tenantId, dueAt(at, count)));
    for (let at = 0; at < all.length; at += BATCH) {
      const some = all.slice(at, at + BATCH);
      const keys = some.map(({ key }) => ({ key }));
      const writes = some.map((put) => ({ put }));
      await this.#store.transact(this.scope, { keys }, () => ({ writes, result: null }));
    }
  }

  async #run(id: string): Promise<Run> {
    const keys = [{ key: runKey(id), view: 'body' as const }];
    const [found] = (await this.#store.query(this.scope, { by: 'keys', keys })).records;
    if (found?.key.collection !== RUNS.name) throw new Error('there is no such run');
    return readRun(found, id);
  }

  /** The operations whose work may not grow with the runs that wait. */
  operations(client: ExecutionClient): Readonly<Record<string, () => Promise<unknown>>> {
    const { runtime } = client.instance;
    const scope = scopeOf('many');
    const worker = { workerId: 'w', handlerIds: [OTHER] };
    return {
      start: () => client.start({ handlerId: OTHER, scope }),
      lease: async () => proofOf(await leased(client, worker)),
      list: () => client.list({ limit: 50 }),
      'list of those that wait': () => client.list({ limit: 50, status: 'waiting' }),
      'due read': () => settleDue(runtime, this.world.now),
      'removal of old runs': () => client.prune({ dryRun: false }),
    };
  }
}
