import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { spaceScope } from '../../functions/collections/store-collections.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { type Faults, faultyHooks } from './faults.ts';
import { type Change, MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import type { RecordsFlaw } from './records-flaws.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';

export const SPACE = 'default';
const ATTEMPTS_MAX = 6;
/** The limit of records of one transaction, so that small jobs have several chunks. */
const WRITES_MAX = 5;

export type RecordsOutcome<T> =
  | { readonly kind: 'answer'; readonly value: T }
  | { readonly kind: 'refused'; readonly code: string }
  /** The effect of the call is unknown. */
  | { readonly kind: 'unknown' };

interface Member {
  readonly process: Process;
  readonly parts: RecordParts;
}

export interface RecordsClusterParts {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly flaw: RecordsFlaw | undefined;
  readonly names: readonly string[];
  readonly applied: (changes: readonly Change[]) => void;
}

/** Instances that serve records over one database, each with what it believes of the names. */
export class RecordsCluster {
  readonly scheduler: Scheduler;
  readonly database = new MemoryDatabase();
  readonly #parts: RecordsClusterParts;
  readonly #members = new Map<string, Member>();

  constructor(parts: RecordsClusterParts) {
    this.scheduler = parts.scheduler;
    this.#parts = parts;
    for (const name of parts.names) this.#start(name);
  }

  crash(name: string): void {
    const process = this.#members.get(name)?.process;
    if (process?.alive !== true) return;
    this.scheduler.note(`${name} dies`);
    process.kill();
    const restartMs = this.scheduler.random.below(40) * TICK_MS;
    this.scheduler.after(new Process('supervisor'), restartMs, () => this.#start(name), `restart ${name}`);
  }

  #start(name: string): void {
    const { scheduler } = this.#parts;
    const process = new Process(name);
    const world: World = {
      clock: { now: () => scheduler.now },
      random: { bytes: (size) => scheduler.random.bytes(size) },
      turns: new TurnRoom({ now: () => scheduler.now }),
      timers: { after: (delayMs, callback) => scheduler.after(process, delayMs, callback) },
      http: () => Promise.reject(new Error('the instance calls no other service')),
    };
    const store = this.#store(process);
    const limits = { readsPerCallMax: 1_000, pageRecordsMax: 100, answerBytesMax: 1_000_000 };
    const parts = createRecordParts({ store: () => Promise.resolve(store), world, limits });
    this.#members.set(name, { process, parts });
  }

  #store(process: Process): RecordStore {
    const { scheduler, faults, flaw, applied } = this.#parts;
    const hooks = faultyHooks(scheduler, process, faults, {
      observed: () => undefined,
      applied: (scope, changes) => {
        if (scope.kind === spaceScope(SPACE).kind) applied(changes);
      },
      replaced: () => undefined,
    });
    const store = new (flaw?.store ?? MemoryStore)(this.database, hooks, ATTEMPTS_MAX);
    return bounded(flaw?.wrap?.(store) ?? store, store);
  }

  /** Sends a request and waits for what comes back, which need not be what happened. `ended`: nothing is under way. */
  async call<T>(
    client: Process,
    serve: (parts: RecordParts, process: Process) => Promise<T>,
    ended: () => void = () => undefined,
  ): Promise<RecordsOutcome<T>> {
    const { scheduler, faults, names } = this.#parts;
    const { random } = scheduler;
    await scheduler.park(client, 'request');
    const member = this.#members.get(random.pick(names));
    if (member?.process.alive !== true || random.chance(faults.requestLost)) {
      ended();
      return { kind: 'unknown' };
    }
    const serving = serve(member.parts, member.process).then(
      (value): RecordsOutcome<T> => ({ kind: 'answer', value }),
      refusedOrUnknown,
    );
    const outcome = await new Promise<RecordsOutcome<T>>((resolve, reject) => {
      const forget = member.process.onDeath(() => resolve({ kind: 'unknown' }));
      serving.then(resolve, reject).finally(forget);
    });
    ended();
    await scheduler.park(client, 'answer');
    return random.chance(faults.answerLost) ? { kind: 'unknown' } : outcome;
  }
}

function refusedOrUnknown(error: unknown): RecordsOutcome<never> {
  if (error instanceof StoreError || isContended(error)) return { kind: 'unknown' };
  if (error instanceof ServiceError) return { kind: 'refused', code: error.code };
  throw error;
}

function isContended(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'store_contention';
}

/** A database whose transactions carry little. */
function bounded(store: RecordStore, methods: RecordStore): RecordStore {
  return {
    provider: store.provider,
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const decision = decide(found);
        if (decision.writes.length > WRITES_MAX) throw new StoreError('too_large', 'too many writes');
        return decision;
      }),
    query: store.query.bind<RecordStore['query']>(store),
    snapshot: (scope, read) => store.snapshot(scope, read),
    claim: (scope, collection, request, decide) => store.claim(scope, collection, request, decide),
    due: (scope, collection, request) => store.due(scope, collection, request),
    scan: (scope, request) => store.scan(scope, request),
    swap: (scope, records, verify) => store.swap(scope, records, verify),
    sweep: (scope) => methods.sweep(scope),
    ping: () => store.ping(),
    close: () => methods.close(),
  };
}
