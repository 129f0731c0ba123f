import { machine } from '../../functions/compose/machine.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { Log, LogEvent } from '../../functions/kernel/log.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import type { KeysSelection, ListSelection, RecordStore, Scope } from '../../functions/store/port.ts';
import {
  ExecutionClient,
  type ExecutionInstance,
  executionInstance,
  type InstanceOptions,
  messagesArrived,
  ownScope,
} from '../support/execution.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { patched } from './canonical-outbox-tenant.ts';

/** A handler of external workers that most tests use. */
export const HANDLER = 'test.work';

/** How long jobs wait for a provider that fails. */
export const PATIENCE_MS = 15 * 60_000;

type Lease = NonNullable<Awaited<ReturnType<ExecutionClient['lease']>>>;

/** A deployment of its own in any store: its instances share a clock that the test moves. */
export class Stage {
  readonly time = new ManualWorld();
  readonly world: World = {
    ...machine,
    clock: this.time.clock,
    timers: this.time.timers,
    turns: new TurnRoom(this.time.clock),
  };
  readonly scope = ownScope();
  /** The log lines of jobs that wait for their providers. */
  readonly logged: LogEvent[] = [];
  readonly log: Log = (line) => void this.logged.push(line);
  readonly store: RecordStore;
  readonly #calls = new Set<Promise<unknown>>();
  #made = 0;
  #instances = 0;

  constructor(store: RecordStore) {
    const watched = <R>(call: Promise<R>): Promise<R> => {
      this.#made += 1;
      this.#calls.add(call);
      const over = () => this.#calls.delete(call);
      call.then(over, over);
      return call;
    };
    const query = (scope: Scope, selection: KeysSelection | ListSelection) =>
      watched(store.query(scope, selection));
    this.store = patched(store, {
      transact: (...given) => watched(store.transact(...given)),
      query: query as RecordStore['query'],
      claim: (...given) => watched(store.claim(...given)),
    });
  }

  /** Calls that were made of the store so far. */
  get storeCalls(): number {
    return this.#made;
  }

  instance(given: InstanceOptions = {}): ExecutionInstance {
    this.#instances += 1;
    return executionInstance(this.store, {
      world: this.world,
      scope: this.scope,
      node: this.#instances,
      external: [{ handlerId: HANDLER }],
      ...given,
    });
  }

  client(given: InstanceOptions = {}): ExecutionClient {
    return new ExecutionClient(this.instance(given));
  }

  /** Settles due runs, as an instance with a timer does. */
  async settle({ runtime }: ExecutionInstance): Promise<void> {
    while ((await settleDue(runtime, this.time.now)).more);
  }

  /** Settles when no work is under way: the remaining work waits for the test. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < 3; turns += 1) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      await messagesArrived(this.world);
      if (this.#calls.size === 0) continue;
      await Promise.allSettled(this.#calls);
      turns = -1;
    }
  }

  async pass(ms: number): Promise<void> {
    this.time.advance(ms);
    await this.quiet();
  }
}

/** The proof that every call under the lease carries. */
export function proofOf({ leaseKey, leaseToken, workerId }: Lease) {
  return { leaseKey, leaseToken, workerId };
}

/** Starts a run and leases it. */
export async function begun(
  client: ExecutionClient,
  body: Partial<Parameters<ExecutionClient['start']>[0]> = {},
  worker: Partial<Parameters<ExecutionClient['lease']>[0]> = {},
) {
  const { id } = await client.start({ handlerId: HANDLER, ...body });
  const lease = await leased(client, { runId: id, ...worker });
  return { id, lease, proof: proofOf(lease) };
}

export async function leased(
  client: ExecutionClient,
  body: Partial<Parameters<ExecutionClient['lease']>[0]> = {},
): Promise<Lease> {
  const lease = await client.lease({ workerId: 'worker-1', handlerIds: [HANDLER], ...body });
  if (lease === null) throw new Error('there was nothing to lease');
  return lease;
}

/** The code that the call is refused with; fails where it is not refused. */
export async function refusedWith(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  throw new Error('nothing was refused');
}

export async function typesOf(client: ExecutionClient, runId: string): Promise<string[]> {
  return (await client.history(runId, { limit: 200 })).map(({ type }) => type);
}

type Proof = ReturnType<typeof proofOf>;

/** A wait for an event, as a worker asks for it. */
export function event(client: ExecutionClient, proof: Proof, name = 'e', more: object = {}) {
  return client.wait({ ...proof, kind: 'external_event', name, ...more });
}

export function timer(client: ExecutionClient, proof: Proof, fireAt: number, name = 't', more: object = {}) {
  return client.wait({ ...proof, kind: 'timer', name, fireAtUtc: new Date(fireAt).toISOString(), ...more });
}
