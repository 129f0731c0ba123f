import { AsyncLocalStorage } from 'node:async_hooks';
import type { OperationTypes } from '../../contracts/generated/operations.ts';
import { canonicalHandlers } from '../../functions/canonical/handlers.ts';
import type { Handler } from '../../functions/http/handler.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import { unconfigured } from '../support/canonical.ts';
import { type Faults, faultyHooks, NO_FAULTS, type Oracle } from './faults.ts';
import type { Flaw } from './flaws.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';
import type { Verdict } from './verdict.ts';
import { Violation } from './violation.ts';

export type Operation = keyof ReturnType<typeof canonicalHandlers>;

/** One request as an instance works on it, found again by what it reads and writes. */
export interface Call<Id extends Operation = Operation> {
  readonly number: number;
  readonly operation: Id;
  readonly params: OperationTypes[Id]['params'];
  readonly body: OperationTypes[Id]['body'];
  readonly instance: string;
  /** The clock of the instance when the request arrived. */
  readonly now: number;
  /** What the model says to the state that the last attempt was shown. */
  verdict: Verdict | undefined;
}

export type Outcome<Id extends Operation = Operation> =
  | { readonly kind: 'answer'; readonly body: OperationTypes[Id]['response']['body'] }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  /** Nothing was done. */
  | { readonly kind: 'failed' }
  /** It may have been done, or be done later. */
  | { readonly kind: 'unknown' };

/** Few, so that giving up for contention is not rare. */
const ATTEMPTS_MAX = 5;
const SKEW_MS_MAX = 2_000;
/** How long an impatient client waits. */
const PATIENCE_MS_MAX = 2_000;

interface Instance {
  readonly process: Process;
  readonly skewMs: number;
  readonly handlers: ReturnType<typeof canonicalHandlers>;
}

/** What the call at hand is, for the store's hooks: as a request id would be passed along. */
const callAtHand = new AsyncLocalStorage<Call>();

export function currentCall(): Call | undefined {
  return callAtHand.getStore();
}

/** Runs `act` as the work on `call`, for planted bugs that ask what the call at hand is. */
export function duringCall<T>(call: Call, act: () => T): T {
  return callAtHand.run(call, act);
}

/** Two instances of the service over one database, and the network before them. */
export class Cluster {
  readonly scheduler: Scheduler;
  readonly database = new MemoryDatabase();
  readonly faults: Faults;
  readonly flaw: Flaw | undefined;
  readonly #oracle: Oracle;
  readonly #instances = new Map<string, Instance>();
  #calls = 0;
  /** What was answered, checked before any client sees it. */
  answered: (call: Call, outcome: Outcome) => void = () => undefined;

  constructor(scheduler: Scheduler, oracle: Oracle, faults: Faults, flaw?: Flaw) {
    this.scheduler = scheduler;
    this.faults = faults;
    this.flaw = flaw;
    this.#oracle = oracle;
    for (const name of ['A', 'B']) this.start(name);
  }

  start(name: string): void {
    const steps = (SKEW_MS_MAX / TICK_MS) * 2 + 1;
    const skewMs = this.scheduler.random.below(steps) * TICK_MS - SKEW_MS_MAX;
    const process = new Process(name);
    const handlers = canonicalHandlers(this.#dependencies(process, skewMs));
    this.scheduler.note(`${name} starts, ${skewMs} ms`);
    this.#instances.set(name, { process, skewMs, handlers });
  }

  /** Kills an instance, and starts it anew after a while. */
  crash(name: string, restartMs = this.scheduler.random.below(20) * TICK_MS): void {
    const process = this.#instances.get(name)?.process;
    if (process?.alive !== true) return;
    this.scheduler.note(`${name} dies`);
    process.kill();
    this.scheduler.after(new Process('supervisor'), restartMs, () => this.start(name), `restart ${name}`);
  }

  stopFaults(): void {
    Object.assign(this.faults, NO_FAULTS);
  }

  #dependencies(process: Process, skewMs: number) {
    const { scheduler, flaw } = this;
    const hooks = faultyHooks(scheduler, process, this.faults, this.#oracle);
    const Store = flaw?.store ?? MemoryStore;
    const plain: RecordStore = new Store(this.database, hooks, ATTEMPTS_MAX);
    const store = flaw?.wrap === undefined ? plain : flaw.wrap(plain);
    const world: World = {
      clock: { now: () => scheduler.now + skewMs },
      random: flaw?.random?.() ?? { bytes: (size) => scheduler.random.bytes(size) },
      timers: { after: (delayMs, callback) => scheduler.after(process, delayMs, callback) },
      http: () => Promise.reject(new Error('the canonical operations call nobody')),
    };
    const open = () => Promise.resolve(store);
    const pageTokens = new PageTokens(sharedSecret(open, world.random, 'page-token'));
    // Without waits no lease call waits, and without retention every event is kept: the model knows neither.
    return { store: open, world, pageTokens, ...unconfigured };
  }

  /** Sends a request and waits for what comes back, which need not be what happened. */
  async call<Id extends Operation>(
    client: Process,
    name: string,
    operation: Id,
    params: OperationTypes[Id]['params'],
    body: OperationTypes[Id]['body'],
  ): Promise<Outcome<Id>> {
    const { scheduler, faults } = this;
    const number = ++this.#calls;
    await scheduler.park(client, `#${number} ${operation} to ${name}`);
    const instance = this.#instances.get(name);
    if (instance?.process.alive !== true) return { kind: 'failed' };
    if (scheduler.random.chance(faults.requestLost)) return { kind: 'unknown' };
    const now = scheduler.now + instance.skewMs;
    const call: Call<Id> = { number, operation, params, body, instance: name, now, verdict: undefined };
    const outcome = await this.#reply(
      client,
      instance,
      duringCall(call, () => this.#serve(instance, call)),
    );
    await scheduler.park(client, `#${number} ${outcome.kind}`);
    return scheduler.random.chance(faults.answerLost) ? { kind: 'unknown' } : outcome;
  }

  /** The first of: the answer, the death of the instance, the end of the client's patience. */
  #reply<Id extends Operation>(
    client: Process,
    instance: Instance,
    serving: Promise<Outcome<Id>>,
  ): Promise<Outcome<Id>> {
    const { random } = this.scheduler;
    return new Promise((resolve, reject) => {
      const forget = instance.process.onDeath(() => resolve({ kind: 'unknown' }));
      serving.then(resolve, reject).finally(forget);
      if (!random.chance(this.faults.impatient)) return;
      const patienceMs = random.below(PATIENCE_MS_MAX / TICK_MS) * TICK_MS;
      this.scheduler.after(client, patienceMs, () => resolve({ kind: 'unknown' }), 'patience');
    });
  }

  async #serve<Id extends Operation>(instance: Instance, call: Call<Id>): Promise<Outcome<Id>> {
    // Between the arrival, which sets the time of the call, and the work there may be other work.
    await this.scheduler.park(instance.process, `#${call.number} arrives`);
    const handler = instance.handlers[call.operation] as unknown as Handler<Id>;
    const context = {
      caller: { kind: 'development', principal: null },
      correlationId: `${call.number}`,
      now: call.now,
      signal: new AbortController().signal,
    } as const;
    let outcome: Outcome<Id>;
    try {
      const { params, body } = call;
      const response = await handler({ params, query: {}, body }, context);
      outcome = { kind: 'answer', body: response.body as OperationTypes[Id]['response']['body'] };
    } catch (error) {
      outcome = this.#outcomeOf(error);
    }
    this.answered(call, outcome);
    return outcome;
  }

  #outcomeOf(error: unknown): { kind: 'refused'; error: ServiceError } | { kind: 'failed' | 'unknown' } {
    if (error instanceof ServiceError) return { kind: 'refused', error };
    if (!(error instanceof StoreError) || error.failure === 'corrupt') {
      this.scheduler.fail(new Violation('internal', String(error)));
      return { kind: 'unknown' };
    }
    return { kind: error.failure === 'unavailable' ? 'unknown' : 'failed' };
  }
}
