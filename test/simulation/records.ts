import { RECORDS, spaceScope } from '../../functions/collections/store-collections.ts';
import { RETIRED_COLLECTIONS, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import type { Options } from './canonical.ts';
import { drawFaults, NO_FAULTS } from './faults.ts';
import type { Change } from './memory-database.ts';
import { Random } from './random.ts';
import { OpenCalls, RecordsClient, type RecordsStage, sweep, work } from './records-clients.ts';
import { RecordsCluster, SPACE } from './records-cluster.ts';
import { RECORDS_FLAWS } from './records-flaws.ts';
import { RecordsJobs } from './records-jobs.ts';
import { RecordsModel } from './records-model.ts';
import { Process, Scheduler } from './scheduler.ts';
import { must, Violation } from './violation.ts';

const STEPS_MAX = 60_000;
const INSTANCES = ['A', 'B'] as const;
const TURNS = 14;
const ROUNDS_MAX = 60;
const ROUND_MS = 700_000;

export interface RecordsOptions extends Options {
  /** Whether clients also search. */
  readonly searches?: boolean;
}

export interface RecordsReport {
  readonly steps: number;
  readonly traceHash: string;
  readonly violation: Error | undefined;
  /** Names of the events that happened, for a test that asks whether the faults reached anything. */
  readonly reached: ReadonlySet<string>;
  readonly log: readonly string[] | undefined;
}

/** Two instances of the record plane under faults: writers, readers, flips, repeated jobs and upkeep; then the comparison. */
export async function simulateRecords(
  seed: number,
  { flaw: name, trace = false, searches = false }: RecordsOptions = {},
): Promise<RecordsReport> {
  const draw = new Random(seed);
  const faults = drawFaults(draw);
  // Calls of a busy world meet each other; in a slow one time passes between them.
  const pauseMsMax = draw.pick([200, 2_000, 90_000]);
  const flaw = name === undefined ? undefined : RECORDS_FLAWS[name];
  if (name !== undefined && flaw === undefined) throw new Error(`there is no bug named ${name}`);
  const scheduler = new Scheduler(seed, { trace });
  const fail = (error: unknown) =>
    scheduler.fail(error instanceof Error ? error : new Violation('internal', String(error)));
  const reached = new Set<string>();
  const open = new OpenCalls();
  const model: RecordsModel = new RecordsModel({
    mayRemove: (collection, key) => open.has(`${collection} ${key}`),
    mayDelete: (collection) => open.has(collection),
    loadOf: (runId) => jobs.loads.find(({ id }) => id === runId)?.markers ?? [],
  });
  // Inside a write of the store: the run of the simulation ends, not the write.
  const applied = (changes: readonly Change[]) => {
    try {
      model.applied(changes, scheduler.now);
    } catch (error) {
      fail(error);
    }
  };
  const cluster = new RecordsCluster({ scheduler, faults, flaw, names: INSTANCES, applied });
  const jobs = new RecordsJobs(cluster, model, reached);
  const stage = { cluster, model, jobs, open, reached, forgetsRuns: flaw?.forgetsRuns === true, searches };
  scheduler.beforeStep = ({ name: process }) => {
    if (INSTANCES.some((each) => each === process) && scheduler.random.chance(faults.killed)) {
      reached.add('killed');
      cluster.crash(process);
    }
  };
  const story = async () => {
    let isOver = false;
    const workers = ['w1', 'w2'].map((each) => work(stage, each, () => isOver));
    const background = Promise.all([...workers, keepUp(stage, () => isOver)]);
    background.catch(fail);
    const clients = ['c1', 'c2', 'c3', 'c4'].map((each) => new RecordsClient(stage, each));
    await Promise.all(clients.map((client) => client.use(TURNS, pauseMsMax)));
    isOver = true;
    Object.assign(faults, NO_FAULTS);
    await background;
    await finish(stage);
    await clients[0]?.lookAtAll();
  };
  let over = false;
  story().then(() => {
    over = true;
  }, fail);
  const ending = await scheduler.run(() => over, STEPS_MAX);
  if (ending === 'stuck' || ending === 'steps used up') scheduler.fail(new Violation('progress', ending));
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { steps, traceHash, violation, reached, log };
}

async function keepUp(stage: RecordsStage, isOver: () => boolean): Promise<void> {
  const { scheduler } = stage.cluster;
  const process = new Process('upkeep');
  while (!isOver()) {
    await scheduler.sleep(process, scheduler.random.below(300_000));
    await sweep(stage, process);
  }
}

/** Every job ends, and upkeep removes what no name points at. */
async function finish(stage: RecordsStage): Promise<void> {
  const { cluster, jobs, model } = stage;
  const { scheduler, database } = cluster;
  const process = new Process('finish');
  for (let round = 0; ; round += 1) {
    must(round < ROUNDS_MAX, 'progress', `${jobs.active().length} jobs and upkeep have no end`);
    const [load] = jobs.active();
    if (load !== undefined) {
      await jobs.execute(process, load);
      continue;
    }
    await scheduler.sleep(process, ROUND_MS);
    await sweep(stage, process);
    if (database.all(UPKEEP_SCOPE, RETIRED_COLLECTIONS.name).length === 0) break;
  }
  model.compare(database.all(spaceScope(SPACE), RECORDS.name).map(({ record }) => record));
}
