import { notesOf } from '../notes/notes-stage.ts';
import type { Options } from './canonical.ts';
import { drawFaults, NO_FAULTS } from './faults.ts';
import { JobsAudit } from './jobs-audit.ts';
import { type JobsShape } from './jobs-calls.ts';
import { JobsCluster } from './jobs-cluster.ts';
import { JOBS_FLAWS } from './jobs-flaws.ts';
import { Random } from './random.ts';
import { Process, Scheduler } from './scheduler.ts';
import { Violation } from './violation.ts';

const STEPS_MAX = 30_000;
const INSTANCES = ['A', 'B'] as const;

export interface JobsReport {
  readonly steps: number;
  readonly traceHash: string;
  readonly violation: Error | undefined;
  /** Names of the events that happened, for a test that asks whether the faults reached anything. */
  readonly reached: ReadonlySet<string>;
}

/** Two instances of the fixture group under faults: imports that repeat, cancel and meet foreign callers; then the audit. */
export async function simulateJobs(seed: number, { flaw: name }: Options = {}): Promise<JobsReport> {
  // The handler imports its code when it first runs: a module that is loaded by then costs the seed no step.
  await import('../notes/group/import-notes.ts');
  const draw = new Random(seed);
  const faults = drawFaults(draw);
  const shape: JobsShape = { counterShards: draw.pick([1, 2]), activeJobsMax: 4, jobShareMax: 2 };
  const flaw = name === undefined ? undefined : JOBS_FLAWS[name];
  if (name !== undefined && flaw === undefined) throw new Error(`there is no bug named ${name}`);
  const scheduler = new Scheduler(seed);
  const audit = new JobsAudit(scheduler, shape);
  const cluster = new JobsCluster({ scheduler, audit, faults, shape, flaw, names: INSTANCES });
  scheduler.beforeStep = ({ name: process }) => {
    if (INSTANCES.some((each) => each === process) && scheduler.random.chance(faults.killed)) {
      cluster.crash(process);
    }
  };
  const story = async () => {
    const users = ['ada', 'ada', 'bob'].map((principal, at) => use(cluster, audit, principal, `c${at}`));
    await Promise.all([...users, intrude(cluster)]);
    Object.assign(faults, NO_FAULTS);
    await audit.finish(cluster);
  };
  let over = false;
  story().then(
    () => {
      over = true;
    },
    (error: unknown) =>
      scheduler.fail(error instanceof Error ? error : new Violation('internal', String(error))),
  );
  const ending = await scheduler.run(() => over, STEPS_MAX);
  if (ending === 'stuck' || ending === 'steps used up') scheduler.fail(new Violation('progress', ending));
  const { steps, traceHash, failure: violation } = scheduler;
  return { steps, traceHash, violation, reached: audit.reached };
}

const TURNS = 6;

/** Imports under a few keys, again and again, and cancels or reads what it knows. Each key has a notebook of its own. */
async function use(cluster: JobsCluster, audit: JobsAudit, principal: string, name: string): Promise<void> {
  const { random } = cluster.scheduler;
  const process = new Process(name);
  const known: string[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    await cluster.scheduler.sleep(process, random.below(2_000));
    const id = known.length === 0 || random.chance(0.6) ? null : random.pick(known);
    if (id !== null) {
      const operation = random.chance(0.4) ? 'cancelNoteImport' : 'getNoteImport';
      const outcome = await cluster.call(process, operation, { params: { jobId: id } }, principal);
      audit.looked(id, outcome);
      const foreign = principal === 'ada' ? 'bob' : 'ada';
      const theirs = await cluster.call(process, 'getNoteImport', { params: { jobId: id } }, foreign);
      audit.lookedAbroad(id, theirs);
      continue;
    }
    const key = `${name}-${random.below(3)}`;
    const body = { notes: notesOf(6), idempotencyKey: key };
    const outcome = await cluster.call(
      process,
      'importNotes',
      { params: { notebook: key }, body },
      principal,
    );
    const started = audit.admitted(key, outcome);
    if (started !== null) known.push(started);
  }
}

/** Names the handler of the service in a start of its own. */
async function intrude(cluster: JobsCluster): Promise<void> {
  const process = new Process('intruder');
  for (let turn = 0; turn < 2; turn += 1) {
    await cluster.scheduler.sleep(process, cluster.scheduler.random.below(3_000));
    await cluster.intrude(process, `c0-${turn}`);
  }
}
