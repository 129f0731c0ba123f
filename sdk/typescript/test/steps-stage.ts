import type { ExecutionRun, JsonValue } from '../src/index.ts';
import { Stop, WorkStopped } from '../src/worker/index.ts';
import type { ChildOutcome, ChildRequest, StepPort } from '../src/worker/steps/ports.ts';
import { type RunDefinition, runSteps } from '../src/worker/steps/run-steps.ts';

/** A model of the service that keeps the rules of one run: leases, checkpoints, waits and kept outcomes. Time is virtual. */

export const startsAt = 1_767_225_600_000;

interface Outcome {
  readonly kind: 'event' | 'timer';
  readonly name: string;
  readonly payload: { readonly payload: JsonValue } | null;
}

interface Wait {
  readonly kind: 'event' | 'timer';
  /** Several for an event that may have one of several names. */
  readonly names: readonly string[];
  readonly dueAt: number | null;
}

/** An event that is raised at a moment after the start. */
export interface Raised {
  readonly at: number;
  readonly name: string;
  readonly payload: JsonValue;
}

export interface Crash {
  /** The number of the call, from 1. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

export interface StageOptions {
  /** Checkpoints that the start gives, by key. */
  readonly first?: ReadonlyMap<string, JsonValue>;
  readonly payload?: JsonValue;
  readonly events?: readonly Raised[];
  /** Events that are raised some time after a run begins to wait for their name. */
  readonly replies?: Readonly<Record<string, { readonly afterMs: number; readonly payload: JsonValue }>>;
  readonly crash?: Crash;
  /** How long the way of a call takes, and that of its answer. */
  readonly wayMs?: () => number;
  readonly maxAttempts?: number;
  /** Failed attempts are repeated up to `maxAttempts`, and an execution knows whether it is the last one. */
  readonly retries?: boolean;
  readonly children?: Readonly<Record<string, { readonly outcome: ChildOutcome; readonly afterMs?: number }>>;
  readonly eventsMax?: number;
  readonly uuids?: readonly string[];
  readonly randoms?: readonly number[];
}

export type Ended =
  | { readonly result: JsonValue; readonly error?: undefined }
  | { readonly error: Error; readonly result?: undefined };

class VirtualClock {
  at = startsAt;
  #timers: { readonly dueAt: number; readonly call: () => void }[] = [];

  readonly now = (): number => this.at;

  readonly after = (delayMs: number, call: () => void): (() => void) => {
    const timer = { dueAt: this.at + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  };

  readonly pause = (ms: number): Promise<void> => new Promise((resolve) => void this.after(ms, resolve));

  /** Goes to the next timer. */
  tick(): boolean {
    const [next] = this.#timers.toSorted((one, other) => one.dueAt - other.dueAt);
    if (next === undefined) return false;
    this.#timers = this.#timers.filter((each) => each !== next);
    this.at = Math.max(this.at, next.dueAt);
    next.call();
    return true;
  }

  clear(): void {
    this.#timers = [];
  }
}

export class RunStage {
  readonly clock = new VirtualClock();
  readonly checkpoints = new Map<string, string>();
  readonly calls: string[] = [];
  readonly records: string[] = [];
  readonly log: string[] = [];
  readonly started = new Map<
    string,
    { readonly id: string; readonly at: number; readonly request: ChildRequest }
  >();
  /** The receipts of commits, by their keys. */
  readonly receipts = new Map<string, JsonValue>();
  /** Calls that break the order of steps, writes and waits. */
  readonly faults: string[] = [];
  attempt = 0;
  #working = 0;
  #inFlight: string[] = [];
  readonly #options: StageOptions;
  #left: Raised[];
  #inbox: Raised[] = [];
  #outcomes: Outcome[] = [];
  #taken: Outcome | null = null;
  #wait: Wait | null = null;
  #failures = 0;
  #uuids = 0;
  #randoms = 0;

  constructor(options: StageOptions = {}) {
    this.#options = options;
    this.#left = [...(options.events ?? [])];
    for (const [key, content] of options.first ?? []) this.checkpoints.set(key, JSON.stringify(content));
  }

  /** The texts of the segments. */
  get segments(): string[] {
    return [...this.checkpoints].filter(([key]) => key.startsWith('svc.steps.')).map(([, text]) => text);
  }

  /** Work of a step: while it goes on, no wait may begin. */
  async work<T>(perform: () => Promise<T>): Promise<T> {
    if (this.#inFlight.some(isWait)) this.faults.push('a step began during a wait');
    this.#working += 1;
    try {
      return await perform();
    } finally {
      this.#working -= 1;
    }
  }

  #check(what: string): void {
    if (isWait(what) && this.#working > 0) this.faults.push(`${what} began while a step worked`);
    if (isWait(what) && this.#inFlight.length > 0) this.faults.push(`${what} began during another call`);
    if (this.#inFlight.some(isWait)) this.faults.push(`${what} began during a wait`);
  }

  /** How often calls of a kind were made. */
  count(kind: string): number {
    return this.calls.filter((call) => call.startsWith(kind)).length;
  }

  /** Executes the handler until the run ends. `definitions`: those of successive executions; the last one stays. */
  async drive(...definitions: readonly RunDefinition[]): Promise<Ended> {
    for (let execution = 0; execution < 200; execution += 1) {
      const definition = definitions[Math.min(execution, definitions.length - 1)] as RunDefinition;
      const ended = await this.execute(definition);
      if (ended !== null && !this.#mayRetry(ended)) return ended;
      if (ended === null) this.#resume();
      else {
        this.#failures += 1;
        this.#loseLease();
      }
    }
    throw new Error('the run does not end');
  }

  #mayRetry({ error }: Ended): boolean {
    const { retries = false } = this.#options;
    return retries && error !== undefined && !(error instanceof Stop) && !this.#isLast;
  }

  get #isLast(): boolean {
    return this.#failures + 1 >= (this.#options.maxAttempts ?? 3);
  }

  /** One execution: `null` if the run is to be executed again. */
  async execute(definition: RunDefinition): Promise<Ended | null> {
    this.attempt += 1;
    const over = new AbortController();
    const answer: { ended?: Ended } = {};
    const settled = runSteps(definition, this.port(over)).then(
      (result) => void (answer.ended = { result }),
      (error: unknown) => void (answer.ended = { error: error as Error }),
    );
    while (answer.ended === undefined) {
      await turns();
      if (answer.ended === undefined && !this.clock.tick())
        throw new Error(`nothing happens: ${this.calls.join(' ')}`);
      this.#raise();
    }
    await settled;
    this.clock.clear();
    this.#working = 0;
    this.#inFlight = [];
    const { ended } = answer;
    const { error } = ended;
    if (error instanceof WorkStopped) {
      if (error.kind === 'lease_lost') this.#loseLease();
      return null;
    }
    return ended;
  }

  /** Goes to the moment at which the wait ends. */
  #resume(): void {
    this.#raise();
    while (this.#wait !== null) {
      const { dueAt } = this.#wait;
      const [next] = this.#left;
      const moments = [
        ...(dueAt === null ? [] : [dueAt]),
        ...(next === undefined ? [] : [startsAt + next.at]),
      ];
      if (moments.length === 0) throw new Error(`the run waits for ever: ${JSON.stringify(this.#wait)}`);
      this.clock.at = Math.max(this.clock.at, Math.min(...moments));
      this.#raise();
      if (this.#wait !== null && dueAt !== null && dueAt <= this.clock.at) this.#endWait(null);
    }
  }

  #raise(): void {
    for (
      let next = this.#left[0];
      next !== undefined && startsAt + next.at <= this.clock.at;
      next = this.#left[0]
    ) {
      this.#left.shift();
      if (this.#wait?.kind === 'event' && this.#wait.names.includes(next.name))
        this.#endWait({ payload: next.payload }, next.name);
      else this.#inbox.push(next);
    }
  }

  #endWait(payload: Outcome['payload'], its?: string): void {
    const { kind, names } = this.#wait as Wait;
    const name = its ?? names[0] ?? '';
    this.#wait = null;
    this.#outcomes.push({ kind, name, payload });
  }

  #loseLease(): void {
    if (this.#taken !== null) this.#outcomes.unshift(this.#taken);
    this.#taken = null;
  }

  /** `null` parks the run. */
  #waitFor(wait: Wait): Outcome | null {
    const { kind, names, dueAt } = wait;
    const [name = ''] = names;
    const kept = this.#outcomes.find((each) => each.kind === kind && names.includes(each.name));
    const event = kind === 'event' ? this.#inbox.find((each) => names.includes(each.name)) : undefined;
    let outcome: Outcome | null = null;
    if (kept !== undefined) {
      this.#outcomes = this.#outcomes.filter((each) => each !== kept);
      outcome = kept;
    } else if (event !== undefined) {
      this.#inbox = this.#inbox.filter((each) => each !== event);
      outcome = { kind, name: event.name, payload: { payload: event.payload } };
    } else if (dueAt !== null && dueAt <= this.clock.at) outcome = { kind, name, payload: null };
    this.#taken = outcome;
    if (outcome === null) {
      this.#wait = wait;
      const reply = kind === 'event' ? this.#options.replies?.[name] : undefined;
      const at = this.clock.at - startsAt + (reply?.afterMs ?? 0);
      if (reply !== undefined) this.#left.unshift({ at, name, payload: reply.payload });
    }
    return outcome;
  }

  #run(): StepPort['run'] {
    const { payload = null, maxAttempts = 3, first, retries = false } = this.#options;
    return {
      ...({ id: '7', attempt: this.attempt, payload, maxAttempts } as unknown as ExecutionRun),
      ...(first === undefined ? {} : { firstCheckpoints: first.size }),
      ...(retries ? { isLastAttempt: this.#isLast } : {}),
    };
  }

  port(over: AbortController): StepPort {
    const { crash, eventsMax = 1, wayMs } = this.#options;
    const stop = (kind: 'lease_lost' | 'suspended') => {
      const stopped = new WorkStopped(kind);
      over.abort(stopped);
      return stopped;
    };
    const way = async () => {
      if (wayMs === undefined) await Promise.resolve();
      else await this.clock.pause(wayMs());
      over.signal.throwIfAborted();
    };
    const call = async <T>(what: string, perform: () => T): Promise<T> => {
      over.signal.throwIfAborted();
      this.#check(what);
      this.#inFlight.push(what);
      try {
        await way();
        this.calls.push(what);
        const isCrash = crash !== undefined && this.calls.length === crash.call;
        if (isCrash && crash.when === 'before') throw stop('lease_lost');
        const answer = perform();
        if (isCrash) throw stop('lease_lost');
        // Others may act before the answer comes.
        await way();
        return answer;
      } finally {
        this.#inFlight = this.#inFlight.filter((each) => each !== what);
      }
    };
    const waitFor = (wait: Wait) =>
      call(`wait ${wait.kind} ${wait.names.join(' ')}`, () => {
        const outcome = this.#waitFor(wait);
        if (outcome === null && !over.signal.aborted) throw stop('suspended');
        return outcome as Outcome;
      });
    return {
      run: this.#run(),
      signal: over.signal,
      clock: {
        now: this.clock.now,
        after: this.clock.after,
        random: () => this.#options.randoms?.[this.#randoms++] ?? 0.5,
        uuid: () => this.#options.uuids?.[this.#uuids++] ?? `uuid-${this.#uuids}`,
      },
      read: (key) =>
        call(`read ${key}`, () => {
          const text = this.checkpoints.get(key);
          return text === undefined ? null : (JSON.parse(text) as JsonValue);
        }),
      write: ({ key, content }) =>
        call(`write ${key}`, () => {
          this.#taken = null;
          this.checkpoints.set(key, JSON.stringify(content));
        }),
      timer: async (name, fireAt) => void (await waitFor({ kind: 'timer', names: [name], dueAt: fireAt })),
      event: async (names, until) => {
        const { name, payload: its } = await waitFor({ kind: 'event', names, dueAt: until });
        return its === null ? null : { name, ...its };
      },
      eventsMax,
      children: this.#children(call),
      commit: this.#commit(call),
      record: (event) => call('record', () => void this.records.push(JSON.stringify(event))),
      log: (_, message) => void this.log.push(message),
      context: {} as StepPort['context'],
    };
  }

  #commit(call: <T>(what: string, perform: () => T) => Promise<T>): NonNullable<StepPort['commit']> {
    return (_, request) => {
      const { idempotencyKey: key } = request as { readonly idempotencyKey: string };
      return call(`commit ${key}`, () => {
        const kept = this.receipts.get(key);
        this.receipts.set(key, kept ?? { of: key });
        return { of: key, replayed: kept !== undefined };
      });
    };
  }

  #children(call: <T>(what: string, perform: () => T) => Promise<T>): NonNullable<StepPort['children']> {
    const kinds = this.#options.children ?? {};
    return {
      start: (request) =>
        call(`start ${request.handlerId}`, () => {
          const id = this.started.get(request.idempotencyKey)?.id ?? String(11 + this.started.size);
          if (!this.started.has(request.idempotencyKey))
            this.started.set(request.idempotencyKey, { id, at: this.clock.at, request });
          return id;
        }),
      outcome: (runId) =>
        call(`outcome ${runId}`, () => {
          const child = [...this.started.values()].find(({ id }) => id === runId);
          const its = child === undefined ? undefined : kinds[child.request.handlerId];
          if (child === undefined || its === undefined) return null;
          return this.clock.at >= child.at + (its.afterMs ?? 0) ? its.outcome : null;
        }),
    };
  }
}

function isWait(what: string): boolean {
  return what.startsWith('wait');
}

/** Lets all promises go on that can. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}
