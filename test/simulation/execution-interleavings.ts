import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import { cancel, raise } from '../../functions/runs/control.ts';
import { leaseRunById } from '../../functions/runs/lease-run.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import { startRun } from '../../functions/runs/start-run.ts';
import { complete, heartbeat, report, wait } from '../../functions/runs/work.ts';
import {
  duringExecutionCall,
  type ExecutionCall,
  type ExecutionOperation,
  executionCall,
} from './execution-calls.ts';
import { EXECUTION, executionInstance, type Shape } from './execution-instance.ts';
import { ExecutionOracle } from './execution-oracle.ts';
import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';

/** When it all happens: the lease runs out, or the wait is over, at `LATER`, and not before. */
const NOW = Date.UTC(2026, 0, 2);
const TTL_MS = 1_000;
const LATER = NOW + TTL_MS;
const TOKEN = 'the token';

/** The deed of one of the rivals: its answer as one word, and the call that it stands for. */
interface Deed {
  readonly operation: ExecutionOperation | null;
  readonly now: number;
  readonly act: (runtime: Runtime, runId: string) => Promise<string>;
}

const NO_FLAW: ExecutionFlaw = { about: 'nothing' };

const held = (runId: string) => ({ runId, workerId: 'w', tokenHash: sha256(TOKEN) });
const anybody = () => undefined;

function completes(status: 'succeeded' | 'failed' | 'timed_out'): Deed {
  const failureClass = status === 'succeeded' ? null : 'transient';
  const completion = { status, failureClass, error: null };
  return {
    operation: 'completeExternalExecutionLease',
    now: NOW,
    act: async (runtime, runId) => (await complete(runtime, held(runId), completion, NOW)).status,
  };
}

function leases(now: number): Deed {
  return {
    operation: 'leaseExternalExecutionRun',
    now,
    async act(runtime, runId) {
      const run = await leaseRunById(runtime, runId, wish('other', 'another token'), now);
      return run === null ? 'nothing' : `leased ${run.attempt}`;
    },
  };
}

function wish(workerId: string, token: string) {
  const handlerIds = new Set(['x-free']);
  return { kind: 'external' as const, workerId, handlerIds, ttlMs: TTL_MS, token, mayLease: () => true };
}

function waits(kind: 'external_event' | 'timer', dueAt: number | null): Deed {
  return {
    operation: 'waitExternalExecutionLease',
    now: NOW,
    async act(runtime, runId) {
      const { outcome, run } = await wait(
        runtime,
        held(runId),
        { kind, name: 'go', dueAt, payload: null, bytes: 4 },
        NOW,
      );
      return outcome === null ? run.status : outcome.outcome;
    },
  };
}

function raises(now: number): Deed {
  return {
    operation: 'raiseExecutionEvent',
    now,
    async act(runtime, runId) {
      await raise(runtime, runId, { name: 'go', payload: null, bytes: 4 }, anybody, now);
      return 'raised';
    },
  };
}

const cancels: Deed = {
  operation: 'cancelExecutionRun',
  now: NOW,
  act: async (runtime, runId) => (await cancel(runtime, runId, anybody, NOW)).status,
};

/** Runs upkeep of due records; their number is not promised. */
const looks: Deed = {
  operation: null,
  now: LATER,
  async act(runtime) {
    await settleDue(runtime, LATER);
    return 'looked';
  },
};

const reports: Deed = {
  operation: 'reportExternalExecutionLease',
  now: NOW,
  act: async (runtime, runId) => (await report(runtime, held(runId), { currentStep: 'step' }, NOW)).status,
};

const beats: Deed = {
  operation: 'heartbeatExternalExecutionLease',
  now: NOW,
  act: async (runtime, runId) => (await heartbeat(runtime, held(runId), 5 * TTL_MS, NOW)).status,
};

/** The deeds that may happen at once to a run in each state. */
export const RIVALS: Readonly<Record<string, Readonly<Record<string, Deed>>>> = {
  queued: { cancels, leases: leases(NOW), 'leases too': leases(NOW), raises: raises(NOW), looks },
  running: {
    cancels,
    succeeds: completes('succeeded'),
    fails: completes('failed'),
    'times out': completes('timed_out'),
    'waits for an event': waits('external_event', null),
    'waits for a timer': waits('timer', LATER),
    raises: raises(NOW),
    'raises too': raises(NOW),
    looks,
    'leases when it has run out': leases(LATER),
    reports,
    beats,
  },
  'waiting for an event': {
    cancels,
    'raises in time': raises(NOW),
    'raises too': raises(NOW),
    'raises at the deadline': raises(LATER),
    looks,
    leases: leases(LATER),
    'leases early': leases(NOW),
  },
  'waiting for a timer': { cancels, raises: raises(LATER), looks, leases: leases(LATER) },
  'waiting for its retry': { cancels, raises: raises(LATER), looks, leases: leases(LATER) },
};

export interface Scenario {
  readonly state: string;
  readonly rivals: readonly string[];
}

/** Deeds with the same effect as another: they are left out of groups of three. */
const IN_PAIRS_ONLY: ReadonlySet<string> = new Set([
  'raises too',
  'reports',
  'beats',
  'leases too',
  'leases when it has run out',
]);

/** All pairs, and the threes with one who cancels. */
export function scenarios(): Scenario[] {
  return Object.entries(RIVALS).flatMap(([state, deeds]) => {
    const names = Object.keys(deeds);
    const pairs = names.flatMap((left, n) => names.slice(n + 1).map((right) => [left, right]));
    const others = pairs.filter(
      (pair) => !pair.some((name) => name === 'cancels' || IN_PAIRS_ONLY.has(name)),
    );
    const threes = others.map((pair) => ['cancels', ...pair]);
    return [...pairs, ...threes].map((rivals) => ({ state, rivals }));
  });
}

const SHAPE: Shape = {
  instances: ['A'],
  local: false,
  marks: false,
  patient: false,
  activeRunsMax: 5,
  counterShards: 1,
  policies: [],
};

/** One database, an instance for each rival, and the way in which their round trips are put in order. */
class Stage {
  readonly database = new MemoryDatabase();
  readonly scheduler = new Scheduler(1);
  readonly oracle = new ExecutionOracle(this.scheduler, SHAPE);
  readonly #flaw: ExecutionFlaw;
  readonly #waiting = new Map<number, () => void>();
  readonly #random = new Random(1);
  free = true;

  constructor(flaw: ExecutionFlaw) {
    this.#flaw = flaw;
  }

  runtime(rival: number): Runtime {
    const writer = { instance: `${rival}`, workerId: 'process', clock: { latest: LATER } };
    const Store = this.#flaw.store ?? MemoryStore;
    const plain = new Store(this.database, {
      before: () => this.#turn(rival),
      applied: (_scope, changes) => this.oracle.applied(changes, executionCall(), writer),
    });
    const world = {
      clock: { now: () => NOW },
      random: { bytes: (size: number) => this.#random.bytes(size) },
      turns: new TurnRoom({ now: () => NOW }),
      timers: { after: () => () => undefined },
      http: () => Promise.reject(new Error('no request is sent')),
    };
    const ignored = { enqueue: () => undefined };
    const named = { name: `${rival}`, workerId: 'process', node: 1 + rival, handlers: [] };
    const store = this.#flaw.wrap?.(plain) ?? plain;
    return executionInstance({ ...named, ...ignored, world, store, shape: SHAPE }).runtime;
  }

  #turn(rival: number): Promise<void> {
    if (this.free) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(rival, resolve);
    });
  }

  /** The rivals that wait for a turn, once none continues by itself. */
  async ready(): Promise<number[]> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return [...this.#waiting.keys()].sort((left, right) => left - right);
  }

  go(rival: number): void {
    const turn = this.#waiting.get(rival);
    this.#waiting.delete(rival);
    turn?.();
  }

  get violation(): Error | undefined {
    return this.scheduler.failure;
  }

  /** The full state of the run and its satellites, except ids and clocks. */
  portrait(runId: string): string {
    const run = this.oracle.current(runId) as Run;
    const { status, attempt, failures, leaseExpirations, cancellationRequested, failureClass, counted } = run;
    const counters = this.database.all(EXECUTION, 'counters').map(({ record }) => record.head.active);
    const outcomes = run.outcomes.map(({ kind, outcome }) => `${kind} ${outcome}`);
    const counts = { attempt, failures, leaseExpirations, counted, counters, inbox: run.inbox.length };
    const state = { status, cancellationRequested, failureClass, outcomes, step: run.currentStep };
    const moments = { due: run.wait?.dueAt ?? null, expiresAt: run.lease?.expiresAt ?? null };
    return JSON.stringify([counts, state, moments, run.lease?.workerId ?? null]);
  }
}

async function prepared(state: string, flaw: ExecutionFlaw): Promise<{ stage: Stage; runId: string }> {
  const stage = new Stage(flaw);
  const runtime = stage.runtime(9);
  const { run } = await startRun(runtime, REQUEST);
  if (state === 'queued') return { stage, runId: run.id };
  await leaseRunById(runtime, run.id, wish('w', TOKEN), NOW);
  if (state === 'waiting for an event') {
    await outcomeOf(waits('external_event', LATER), runtime, run.id);
  } else if (state === 'waiting for a timer') {
    await outcomeOf(waits('timer', LATER), runtime, run.id);
  } else if (state === 'waiting for its retry') {
    await outcomeOf(completes('failed'), runtime, run.id);
  }
  return { stage, runId: run.id };
}

const REQUEST = {
  handlerId: 'x-free',
  pluginId: null,
  payload: null,
  payloadHash: sha256('null'),
  payloadBytes: 4,
  idempotencyKey: null,
  correlationId: null,
  scope: null,
  scheduledAt: null,
  retryPolicy: {
    maxAttempts: 2,
    initialDelaySeconds: TTL_MS / 1_000,
    maxDelaySeconds: 1,
    backoffMultiplier: 1,
  },
  tags: {},
  operationId: 'startExecutionRun',
};

async function outcomeOf(deed: Deed, runtime: Runtime, runId: string): Promise<string> {
  const { operation, now, act } = deed;
  const body = { leaseToken: TOKEN, workerId: 'w' };
  const call = { operation, now, body, wrote: [] } as unknown as ExecutionCall;
  try {
    return await duringExecutionCall(operation === null ? undefined : call, () => act(runtime, runId));
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

/** The answers of the rivals and the final state of the run, in each order of one after the other. */
async function serialResults({ state, rivals }: Scenario, deeds: readonly Deed[]): Promise<Set<string>> {
  const results = new Set<string>();
  for (const order of permutations(rivals.map((_, n) => n))) {
    const { stage, runId } = await prepared(state, NO_FLAW);
    const answers: string[] = [];
    for (const rival of order)
      answers[rival] = await outcomeOf(deeds[rival] as Deed, stage.runtime(rival), runId);
    if (stage.violation !== undefined) throw stage.violation;
    results.add(`${answers.join()} ${stage.portrait(runId)}`);
  }
  return results;
}

function permutations(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((first) =>
    permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
  );
}

/**
 * Lets the rivals go at every interleaving of their round trips to the store. Answers how many there were; throws where one
 * breaks a rule, or ends as no order of one after the other does.
 */
export async function interleaveAll(scenario: Scenario, flaw: ExecutionFlaw = NO_FLAW): Promise<number> {
  const deeds = scenario.rivals.map((name) => RIVALS[scenario.state]?.[name] as Deed);
  const serial = await serialResults(scenario, deeds);
  let courses = 0;
  for (let choices: number[] | null = []; choices !== null; courses++) {
    choices = await oneCourse(scenario, deeds, { choices, serial, flaw });
  }
  return courses;
}

interface Course {
  readonly choices: readonly number[];
  readonly serial: ReadonlySet<string>;
  readonly flaw: ExecutionFlaw;
}

/** Follows the choices, and then always the first; answers the choices of the next course, `null` after the last. */
async function oneCourse(
  scenario: Scenario,
  deeds: readonly Deed[],
  course: Course,
): Promise<number[] | null> {
  const { stage, runId } = await prepared(scenario.state, course.flaw);
  stage.free = false;
  const rivals = deeds.map((deed, n) => outcomeOf(deed, stage.runtime(n), runId));
  const taken: { readonly chosen: number; readonly of: number }[] = [];
  for (let ready = await stage.ready(); ready.length > 0; ready = await stage.ready()) {
    const chosen = course.choices[taken.length] ?? 0;
    taken.push({ chosen, of: ready.length });
    stage.go(ready[chosen] ?? -1);
  }
  const result = `${(await Promise.all(rivals)).join()} ${stage.portrait(runId)}`;
  const order = taken.map(({ chosen }) => chosen).join('');
  if (stage.violation !== undefined) throw new Error(`${order}: ${stage.violation.message}`);
  if (!course.serial.has(result)) {
    throw new Error(`${order} ended with ${result}, which is none of\n${[...course.serial].join('\n')}`);
  }
  while (taken.length > 0) {
    const last = taken.pop();
    if (last !== undefined && last.chosen + 1 < last.of) {
      return [...taken.map(({ chosen }) => chosen), last.chosen + 1];
    }
  }
  return null;
}
