import { ServiceError } from '../../functions/kernel/errors.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { Clock, World } from '../../functions/kernel/world.ts';
import type { RunMessage, RunQueue } from '../../functions/queue/port.ts';
import type { PluginHandler } from '../../functions/runs/plugin.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { checkAnswer } from './execution-answers.ts';
import {
  duringExecutionCall,
  type ExecutionCall,
  type ExecutionOperation,
  type ExecutionOutcome,
  type ExecutionRequest,
  executionCall,
} from './execution-calls.ts';
import { type ExecutionFaults, NO_EXECUTION_FAULTS, SkewedClock } from './execution-faults.ts';
import { type ExecutionInstance, executionInstance, type Shape } from './execution-instance.ts';
import type { ExecutionOracle } from './execution-oracle.ts';
import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { faultyHooks } from './faults.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore, type Trip } from './memory-store.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';
import { Violation } from './violation.ts';

const ATTEMPTS_MAX = 6;
const SKEW_MS_MAX = 600_000;
const PATIENCE_MS_MAX = 4_000;

/** How a handler lives with its instance, which it may take down. */
export interface Host {
  readonly name: string;
  readonly process: Process;
  crash(): void;
}

type HandlersOf = (host: Host) => readonly PluginHandler[];

interface Member {
  readonly process: Process;
  readonly clock: SkewedClock;
  readonly instance: ExecutionInstance;
}

/** A queue that delivers to the instances of a cluster. */
export interface CloudTasks {
  queueOf(process: Process, clock: Clock, hint: (handlerId: string) => void): RunQueue;
  /** An instance that takes deliveries, in place of the one of this name that died. */
  join(process: Process, instance: ExecutionInstance): void;
}

export interface ClusterParts {
  readonly scheduler: Scheduler;
  readonly oracle: ExecutionOracle;
  readonly shape: Shape;
  readonly faults: ExecutionFaults;
  readonly handlersOf: HandlersOf;
  readonly flaw?: ExecutionFlaw | undefined;
  readonly cloud?: CloudTasks | undefined;
}

/** Instances of the execution runtime over one database, each with its own clock, and the network and queue around them. */
export class ExecutionCluster {
  readonly scheduler: Scheduler;
  readonly database = new MemoryDatabase();
  readonly faults: ExecutionFaults;
  readonly shape: Shape;
  /** Messages to workers that no worker has taken yet. */
  readonly messages: RunMessage[] = [];
  readonly #parts: ClusterParts;
  readonly #members = new Map<string, Member>();
  #calls = 0;
  #started = 0;
  #writes = 0;

  constructor(parts: ClusterParts) {
    this.scheduler = parts.scheduler;
    this.faults = parts.faults;
    this.shape = parts.shape;
    this.#parts = parts;
    for (const name of parts.shape.instances) this.start(name);
  }

  /** How many instances were started so far. */
  get started(): number {
    return this.#started;
  }

  start(name: string): void {
    const { scheduler, shape } = this;
    const steps = SKEW_MS_MAX / TICK_MS;
    const offsetMs = this.faults.clock > 0 ? (scheduler.random.below(2 * steps) - steps) * TICK_MS : 0;
    const process = new Process(name);
    const clock = new SkewedClock(() => scheduler.now, offsetMs);
    const workerId = `process-${name}-${++this.#started}`;
    const crash = () => this.crash(name);
    const { cloud } = this.#parts;
    const instance = executionInstance({
      name,
      workerId,
      node: 1 + shape.instances.indexOf(name),
      world: this.#world(process, clock),
      store: this.#store(process, clock, workerId),
      shape,
      handlers: this.#parts.handlersOf({ name, process, crash }),
      enqueue: (message) => this.#enqueue(message),
      hears: this.#parts.flaw?.hears,
      placesMore: this.#parts.flaw?.placesMore,
      ...(cloud && { cloud: (hint) => cloud.queueOf(process, clock, hint) }),
    });
    cloud?.join(process, instance);
    scheduler.note(`${name} starts, ${offsetMs} ms`);
    this.#members.set(name, { process, clock, instance });
    instance.start();
  }

  crash(name: string, restartMs = this.scheduler.random.below(40) * TICK_MS): void {
    const process = this.#members.get(name)?.process;
    if (process?.alive !== true) return;
    this.scheduler.note(`${name} dies`);
    process.kill();
    this.scheduler.after(new Process('supervisor'), restartMs, () => this.start(name), `restart ${name}`);
  }

  disturbClocks(): void {
    const { random } = this.scheduler;
    const name = random.pick(this.shape.instances);
    const what = this.#members.get(name)?.clock.disturb(random);
    this.scheduler.note(`clock of ${name} ${what}`);
  }

  /** Moves every clock to the furthest time of all, so that everything scheduled on one of them is due. */
  stopFaults(): void {
    Object.assign(this.faults, NO_EXECUTION_FAULTS);
    const latest = Math.max(...[...this.#members.values()].map(({ clock }) => clock.latest));
    const furthest = Math.max(latest, this.#parts.oracle.latest, this.scheduler.now);
    for (const { clock } of this.#members.values()) clock.set(furthest);
    this.#ahead = furthest - this.scheduler.now;
  }

  /** The lead of the clocks of instances that start now: that of all others. */
  #ahead = 0;

  /** The runtime of an instance that is up; `undefined` while all are down. */
  runtime(): Runtime | undefined {
    return [...this.#members.values()].find(({ process }) => process.alive)?.instance.runtime;
  }

  now(name: string): number {
    return this.#members.get(name)?.clock.now() ?? this.scheduler.now;
  }

  #world(process: Process, clock: SkewedClock): World {
    const { scheduler } = this;
    if (this.#ahead > 0) clock.set(scheduler.now + this.#ahead);
    return {
      clock,
      turns: new TurnRoom(clock),
      random: { bytes: (size) => scheduler.random.bytes(size) },
      timers: {
        after: (delayMs, callback) =>
          scheduler.after(process, delayMs, () => duringExecutionCall(undefined, callback)),
      },
      http: () => Promise.reject(new Error('the execution runtime sends no requests')),
    };
  }

  #store(process: Process, clock: SkewedClock, workerId: string): RecordStore {
    const { flaw, oracle } = this.#parts;
    const writer = { instance: process.name, workerId, clock };
    const early = this.shape.marksEarly === true;
    const plainHooks = faultyHooks(this.scheduler, process, this.faults, {
      observed: () => undefined,
      applied: (_scope, changes) => {
        if (!early) this.#writes++;
        oracle.applied(changes, executionCall(), writer);
      },
      replaced: () => undefined,
    });
    const before = (trip: Trip) => {
      if (trip.endsWith('write')) this.#writes++;
      return plainHooks.before(trip);
    };
    const hooks = early ? { ...plainHooks, before } : plainHooks;
    const Store = flaw?.store ?? MemoryStore;
    const plain = new Store(this.database, hooks, ATTEMPTS_MAX);
    const store = flaw?.wrap === undefined ? plain : flaw.wrap(plain);
    const changeMark = () => (flaw?.marksNothing === true ? '' : `${this.#writes}`);
    return this.shape.marks ? Object.assign(store, { changeMark }) : store;
  }

  #enqueue(message: RunMessage): void {
    const { random } = this.scheduler;
    if (random.chance(this.faults.queueRefuses)) throw new Error('the queue does not answer');
    if (random.chance(this.faults.messageLost)) return;
    this.messages.push(message);
    if (random.chance(this.faults.messageTwice)) this.messages.push(message);
  }

  /** Sends a request and waits for the outcome that the client sees, which may differ from the effect. */
  async call<Id extends ExecutionOperation>(
    client: Process,
    name: string,
    request: ExecutionRequest<Id>,
  ): Promise<ExecutionOutcome<Id>> {
    const { scheduler, faults } = this;
    const { oracle } = this.#parts;
    const number = ++this.#calls;
    const since = oracle.moment;
    await scheduler.park(client, `#${number} ${request.operation} to ${name}`);
    const member = this.#members.get(name);
    if (member?.process.alive !== true) return { kind: 'failed' };
    if (scheduler.random.chance(faults.requestLost)) return { kind: 'unknown' };
    const now = member.clock.now();
    const { clock } = member;
    const call: ExecutionCall = { ...request, number, instance: name, now, clock, since, wrote: [] };
    const serving = duringExecutionCall(call, () => this.#serve(member, call));
    const outcome = (await this.#reply(client, member, serving)) as ExecutionOutcome<Id>;
    await scheduler.park(client, `#${number} ${said(outcome)}`);
    return scheduler.random.chance(faults.answerLost) ? { kind: 'unknown' } : outcome;
  }

  #reply(
    client: Process,
    { process }: Member,
    serving: Promise<ExecutionOutcome>,
  ): Promise<ExecutionOutcome> {
    const { random } = this.scheduler;
    return new Promise((resolve, reject) => {
      const forget = process.onDeath(() => resolve({ kind: 'unknown' }));
      serving.then(resolve, reject).finally(forget);
      if (!random.chance(this.faults.impatient)) return;
      const patienceMs = random.below(PATIENCE_MS_MAX / TICK_MS) * TICK_MS;
      this.scheduler.after(client, patienceMs, () => resolve({ kind: 'unknown' }), 'patience');
    });
  }

  async #serve({ process, instance }: Member, call: ExecutionCall): Promise<ExecutionOutcome> {
    await this.scheduler.park(process, `#${call.number} arrives`);
    let outcome: ExecutionOutcome;
    try {
      const operation = instance.operations[call.operation] as unknown as (
        input: object,
        context: object,
      ) => Promise<{ readonly body: never }>;
      const { params, query, body, now } = call;
      const signal = new AbortController().signal;
      const caller = { kind: 'development', principal: null };
      const answer = await operation({ params, query, body }, { caller, correlationId: 'c', now, signal });
      outcome = { kind: 'answer', body: answer.body };
    } catch (error) {
      outcome = this.#outcomeOf(error);
    }
    this.#parts.oracle.answered(call, outcome, checkAnswer);
    return outcome;
  }

  #outcomeOf(error: unknown): ExecutionOutcome {
    if (error instanceof ServiceError) return { kind: 'refused', error };
    if (!(error instanceof StoreError) || error.failure === 'corrupt') {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.scheduler.fail(new Violation('internal', detail));
      return { kind: 'unknown' };
    }
    return { kind: error.failure === 'unavailable' ? 'unknown' : 'failed' };
  }
}

function said(outcome: ExecutionOutcome): string {
  return outcome.kind === 'refused' ? `refused ${outcome.error.code}` : outcome.kind;
}
