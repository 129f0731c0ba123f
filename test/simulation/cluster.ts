import { canonicalHandlers } from '../../functions/groups/canonical/handlers.ts';
import type { Handler } from '../../functions/http/handler.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import { unconfigured } from '../support/canonical.ts';
import { readAnswer } from '../support/written-answer.ts';
import { type ArchiveRestore, ArchiveTool } from './archives.ts';
import {
  type AnyCall,
  type AnyOperation,
  type AnyOutcome,
  type Call,
  currentCall,
  duringCall,
  type Operation,
  type Outcome,
  type Types,
} from './canonical-calls.ts';
import { type Faults, faultyHooks, NO_FAULTS, type Oracle } from './faults.ts';
import type { Flaw } from './flaws.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';
import { Violation } from './violation.ts';

/** Few, so that giving up for contention is not rare. */
const ATTEMPTS_MAX = 5;
const SKEW_MS_MAX = 2_000;
/** How long an impatient client waits. */
const PATIENCE_MS_MAX = 2_000;

interface Instance {
  readonly process: Process;
  readonly skewMs: number;
  readonly handlers: ReturnType<typeof canonicalHandlers>;
  readonly tool: ArchiveTool;
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
  /** Observers of calls and answers, which check each before any client sees it. */
  sent: (call: AnyCall) => void = () => undefined;
  answered: (call: AnyCall, outcome: AnyOutcome) => void = () => undefined;

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
    const store = this.#store(process);
    const handlers = canonicalHandlers(this.#dependencies(store, process, skewMs));
    const tool = new ArchiveTool(store, this.scheduler);
    this.scheduler.note(`${name} starts, ${skewMs} ms`);
    this.#instances.set(name, { process, skewMs, handlers, tool });
  }

  /** Kills an instance, and starts it again after a while. */
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

  #store(process: Process): RecordStore {
    const { flaw } = this;
    const hooks = faultyHooks(this.scheduler, process, this.faults, this.#oracle);
    const Store = flaw?.store ?? MemoryStore;
    const plain = new Store(this.database, hooks, ATTEMPTS_MAX);
    return flaw?.wrap === undefined ? plain : flaw.wrap(plain);
  }

  #dependencies(store: RecordStore, process: Process, skewMs: number) {
    const { scheduler, flaw } = this;
    const world: World = {
      clock: {
        now: () => {
          const now = scheduler.now + skewMs;
          const call = currentCall();
          if (call !== undefined) call.decided = now;
          return now;
        },
      },
      random: flaw?.random?.() ?? { bytes: (size) => scheduler.random.bytes(size) },
      turns: new TurnRoom({ now: () => scheduler.now + skewMs }),
      timers: { after: (delayMs, callback) => scheduler.after(process, delayMs, callback) },
      http: () => Promise.reject(new Error('the canonical operations send no requests')),
    };
    const open = () => Promise.resolve(store);
    const pageTokens = new PageTokens(sharedSecret(open, world.random, 'page-token'));
    // Without waits no lease call waits, and without retention every event is kept: the model knows neither.
    return { store: open, world, pageTokens, ...unconfigured };
  }

  /** Sends a request and waits for the outcome that the client sees, which may differ from the effect. */
  async call<Id extends AnyOperation>(
    client: Process,
    name: string,
    operation: Id,
    params: Types[Id]['params'],
    body: Types[Id]['body'],
  ): Promise<Outcome<Id>> {
    const { scheduler, faults } = this;
    const number = ++this.#calls;
    await scheduler.park(client, `#${number} ${operation} to ${name}`);
    const instance = this.#instances.get(name);
    if (instance?.process.alive !== true) return { kind: 'failed' };
    if (scheduler.random.chance(faults.requestLost)) return { kind: 'unknown' };
    const now = scheduler.now + instance.skewMs;
    const call: Call<Id> = {
      number,
      operation,
      params,
      body,
      instance: name,
      now,
      verdict: undefined,
    };
    this.sent(call);
    const outcome = await this.#reply(
      client,
      instance,
      duringCall(call, () => this.#serve(instance, call)),
    );
    await scheduler.park(client, `#${number} ${outcome.kind}`);
    return scheduler.random.chance(faults.answerLost) ? { kind: 'unknown' } : outcome;
  }

  /** Settles with the first of these: the answer, the death of the instance, the end of the client's patience. */
  #reply<Id extends AnyOperation>(
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

  async #serve<Id extends AnyOperation>(instance: Instance, call: Call<Id>): Promise<Outcome<Id>> {
    // Between the arrival, which sets the time of the call, and the work there may be other work.
    await this.scheduler.park(instance.process, `#${call.number} arrives`);
    let outcome: Outcome<Id>;
    try {
      outcome = { kind: 'answer', body: await perform(instance, call) };
    } catch (error) {
      outcome = this.#outcomeOf(error, call.operation);
    }
    this.answered(call, outcome);
    return outcome;
  }

  #outcomeOf(
    error: unknown,
    operation: AnyOperation,
  ): { kind: 'refused'; error: ServiceError } | { kind: 'failed' | 'unknown' } {
    if (error instanceof ServiceError) return { kind: 'refused', error };
    if (!(error instanceof StoreError) || error.failure === 'corrupt') {
      // A copy whose parts contradict each other was never the tenant.
      const torn = error instanceof StoreError && operation.startsWith('export');
      this.scheduler.fail(new Violation(torn ? 'I14 export' : 'internal', String(error)));
      return { kind: 'unknown' };
    }
    return { kind: error.failure === 'unavailable' ? 'unknown' : 'failed' };
  }
}

async function perform<Id extends AnyOperation>(
  { handlers, tool }: Instance,
  call: Call<Id>,
): Promise<Types[Id]['response']['body']> {
  const { operation, params, body, now }: AnyCall = call;
  const tenant = params as { readonly tenantId: string };
  if (operation === 'exportTenantArchive') return tool.exportTenantArchive(tenant, now);
  if (operation === 'restoreTenantArchive') return tool.restoreTenantArchive(tenant, body as ArchiveRestore);
  const handler = handlers[operation] as unknown as Handler<Operation>;
  const input = { params, query: {}, body } as Parameters<Handler<Operation>>[0];
  const context = {
    caller: { kind: 'development', principal: null },
    correlationId: `${call.number}`,
    now,
    signal: new AbortController().signal,
  } as const;
  return readAnswer((await handler(input, context)).body);
}
