import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import { readLink } from '../../functions/runs/child-link.ts';
import { cancel } from '../../functions/runs/control.ts';
import { leaseRunById } from '../../functions/runs/lease-run.ts';
import { requireRun } from '../../functions/runs/read-runs.ts';
import { childLinkKey } from '../../functions/runs/records.ts';
import type { StartRequest } from '../../functions/runs/rules/start.ts';
import { isTerminal } from '../../functions/runs/run.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import { startChild } from '../../functions/runs/start-child.ts';
import { startRun } from '../../functions/runs/start-run.ts';
import { waitForChildRun } from '../../functions/runs/wait-child.ts';
import { complete } from '../../functions/runs/work.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { EXECUTION, executionInstance, type Shape } from './execution-instance.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Random } from './random.ts';

/** A parent that waits for its child, at every interleaving of the round trips of those that change the two. */

const NOW = Date.UTC(2026, 0, 2);
const TTL_MS = 600_000;
/** The deadline of the wait. */
const LATER = NOW + 1_000;
const TOKEN = 'the token';

interface Family {
  readonly parentId: string;
  readonly childId: string;
}

type Deed = (runtime: Runtime, family: Family) => Promise<unknown>;

const held = (runId: string) => ({ runId, workerId: 'w', tokenHash: sha256(TOKEN) });
const anybody = () => undefined;
const ended = { status: 'succeeded', failureClass: null, error: null } as const;

const waits =
  (dueAt: number | null): Deed =>
  (runtime, { parentId, childId }) => {
    const wait = { name: 'n', runId: childId, dueAt, write: null };
    return waitForChildRun(runtime, held(parentId), wait, NOW);
  };

/** What may happen at once. */
export const DEEDS: Readonly<Record<string, Deed>> = {
  'the parent waits': waits(null),
  'the parent waits with a deadline': waits(LATER),
  'the child ends': (runtime, { childId }) => complete(runtime, held(childId), ended, NOW),
  'the child is cancelled': (runtime, { childId }) => cancel(runtime, childId, anybody, NOW),
  'the parent is cancelled': (runtime, { parentId }) => cancel(runtime, parentId, anybody, NOW),
  'the deadline is settled': (runtime) => settleDue(runtime, LATER),
  'another child starts': (runtime, { parentId }) =>
    startChild(runtime, held(parentId), { ...CHILD, writeId: 'other' }, () => REQUEST, NOW),
};

const CHILD = { writeId: 'c', requestHash: 'sha256:c', cancelWithParent: true };

const REQUEST: StartRequest = {
  handlerId: 'x-free',
  pluginId: null,
  payload: null,
  payloadHash: sha256('null'),
  payloadBytes: 4,
  idempotencyKey: null,
  correlationId: null,
  scope: null,
  scheduledAt: null,
  retryPolicy: null,
  tags: {},
  operationId: 'startExecutionRun',
};

const SHAPE: Shape = {
  instances: ['A'],
  local: false,
  marks: false,
  patient: false,
  activeRunsMax: 5,
  counterShards: 1,
  policies: [],
};

/** A planted bug of the store. */
export type Flaw = (store: RecordStore) => RecordStore;

/** One database, an instance for each rival, and the order in which their round trips go on. */
class Stage {
  readonly #database = new MemoryDatabase();
  /** A rival that cancels several children makes several round trips at once, which go on together. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #random = new Random(1);
  readonly #flaw: Flaw;
  free = true;

  constructor(flaw: Flaw) {
    this.#flaw = flaw;
  }

  runtime(rival: number): Runtime {
    const store = new MemoryStore(this.#database, { before: () => this.#turn(rival) });
    const world = {
      clock: { now: () => NOW },
      random: { bytes: (size: number) => this.#random.bytes(size) },
      turns: new TurnRoom({ now: () => NOW }),
      timers: { after: () => () => undefined },
      http: () => Promise.reject(new Error('no request is sent')),
    };
    const named = { name: `${rival}`, workerId: 'process', node: 1 + rival, handlers: [] };
    const enqueue = () => undefined;
    return executionInstance({ ...named, enqueue, world, store: this.#flaw(store), shape: SHAPE }).runtime;
  }

  #turn(rival: number): Promise<void> {
    if (this.free) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(rival, [...(this.#waiting.get(rival) ?? []), resolve]);
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
    const turns = this.#waiting.get(rival) ?? [];
    this.#waiting.delete(rival);
    for (const turn of turns) turn();
  }
}

async function family(runtime: Runtime): Promise<Family> {
  const { run } = await startRun(runtime, REQUEST);
  await leaseRunById(runtime, run.id, wish(), NOW);
  const { runId: childId } = await startChild(runtime, held(run.id), CHILD, () => REQUEST, NOW);
  await leaseRunById(runtime, childId, wish(), NOW);
  return { parentId: run.id, childId };
}

function wish() {
  const handlerIds = new Set(['x-free']);
  return {
    kind: 'external' as const,
    workerId: 'w',
    handlerIds,
    ttlMs: TTL_MS,
    token: TOKEN,
    mayLease: () => true,
  };
}

/** Throws where the parent could wait for ever, or does not learn how its child ended. */
async function expectSound(runtime: Runtime, { parentId, childId }: Family): Promise<void> {
  const [parent, child] = [await requireRun(runtime, parentId), await requireRun(runtime, childId)];
  const store = await runtime.store();
  const keys = [{ key: childLinkKey(parentId, childId), view: 'body' as const }];
  const { records } = await store.query(EXECUTION, { by: 'keys', keys });
  const link = records[0] === undefined ? null : readLink(records[0]);
  const isOver = isTerminal(child.status);
  if (link?.outcome?.status !== (isOver ? child.status : undefined))
    throw new Error(`the child is ${child.status}, and its parent knows ${link?.outcome?.status}`);
  if (isOver && parent.wait?.kind === 'run') throw new Error('the parent waits for a child that has ended');
  if (parent.status === 'waiting' && link?.waited !== true)
    throw new Error('the parent waits, and the end of its child will not find it');
  if (parent.cancellationRequested && !isOver && !child.cancellationRequested)
    throw new Error('the parent was cancelled, and its child was not');
}

/** Courses that one group of deeds tries at most: a cancellation makes many round trips. */
const COURSES_MAX = 150;

/** Tries the interleavings of the deeds, up to a bound; answers their number. */
export async function interleaveChildren(
  names: readonly string[],
  flaw: Flaw = (store) => store,
): Promise<number> {
  let courses = 0;
  for (let choices: readonly number[] | null = []; choices !== null && courses < COURSES_MAX; courses += 1)
    choices = await oneCourse(names, choices, flaw);
  return courses;
}

/** Follows the choices, and then always the first; answers the choices of the next course, `null` after the last. */
async function oneCourse(
  names: readonly string[],
  choices: readonly number[],
  flaw: Flaw,
): Promise<readonly number[] | null> {
  const stage = new Stage(flaw);
  const all = await family(stage.runtime(9));
  stage.free = false;
  const rivals = names.map((name, rival) => answer(DEEDS[name] as Deed, stage.runtime(rival), all));
  const taken: { readonly chosen: number; readonly of: number }[] = [];
  for (let ready = await stage.ready(); ready.length > 0; ready = await stage.ready()) {
    const chosen = choices[taken.length] ?? 0;
    taken.push({ chosen, of: ready.length });
    stage.go(ready[chosen] ?? -1);
  }
  await Promise.all(rivals);
  stage.free = true;
  await expectSound(stage.runtime(9), all);
  while (taken.length > 0) {
    const last = taken.pop();
    if (last !== undefined && last.chosen + 1 < last.of)
      return [...taken.map(({ chosen }) => chosen), last.chosen + 1];
  }
  return null;
}

/** A rival may end the lease first. */
async function answer(deed: Deed, runtime: Runtime, all: Family): Promise<void> {
  try {
    await deed(runtime, all);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
}
