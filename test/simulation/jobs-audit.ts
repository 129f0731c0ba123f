import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { COUNTERS, EXECUTION_SCOPE, isActive, RUNS, readRun } from '../../functions/runs/records.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import type { RecordData } from '../../functions/store/port.ts';
import type { NoteImportJob } from '../notes/contracts/generated/models.ts';
import { IMPORT_HANDLER } from '../notes/group/jobs.ts';
import { NOTES, notesScope, readNote } from '../notes/group/records.ts';
import { type JobsOutcome, type JobsShape, SPACES } from './jobs-calls.ts';
import type { Change, MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Process, type Scheduler } from './scheduler.ts';
import { must } from './violation.ts';

const ROUNDS_MAX = 200;
const ROUND_MS = 2_000;

/** The instances whose jobs are audited. */
export interface AuditedCluster {
  readonly database: MemoryDatabase;
  /** `undefined` while no instance is up. */
  auditRuntime(): Runtime | undefined;
}

/** Checks the rules of jobs, at every write and at the end. */
export class JobsAudit {
  readonly reached = new Set<string>();
  readonly #scheduler: Scheduler;
  readonly #shape: JobsShape;
  /** The jobs that were answered for a key. */
  readonly #byKey = new Map<string, Set<string>>();
  readonly #runs = new Map<string, Run>();

  constructor(scheduler: Scheduler, shape: JobsShape) {
    this.#scheduler = scheduler;
    this.#shape = shape;
  }

  /** At each write: no more jobs are active than the ceiling and the shares allow, and callers started none. */
  applied(changes: readonly Change[]): void {
    for (const { key, after } of changes) {
      if (key.collection !== RUNS.name || typeof after?.body !== 'string') continue;
      const run = readRun(after);
      this.#runs.set(run.id, run);
      if (run.attempt > 1) this.reached.add('taken over');
      if (run.status === 'cancelled') this.reached.add('cancelled');
      const intruded = run.job === undefined && run.status !== 'rejected';
      this.#must(!intruded, 'I8 run', `${run.id} was started without its operation`);
    }
    const active = [...this.#runs.values()].filter((run) => isActive(run));
    this.#must(active.length <= this.#shape.activeJobsMax, 'admission', `${active.length} jobs are active`);
    for (const space of Object.values(SPACES)) {
      const own = active.filter(({ job }) => job?.space === space).length;
      this.#must(own <= this.#shape.jobShareMax, 'admission', `${space} has ${own} active jobs`);
    }
  }

  admitted(key: string, outcome: JobsOutcome): string | null {
    if (outcome.kind === 'refused') {
      this.reached.add(outcome.code);
      return null;
    }
    if (outcome.kind !== 'answer') return null;
    const { id, admission } = outcome.body as NoteImportJob;
    if (admission.replayed) this.reached.add('replayed');
    const known = this.#byKey.get(key) ?? new Set<string>();
    this.#byKey.set(key, known.add(id));
    must(known.size === 1, 'I3 one result', `key ${key} has the jobs ${[...known].join(', ')}`);
    return id;
  }

  looked(id: string, outcome: JobsOutcome): void {
    const isLost = outcome.kind === 'refused' && outcome.code === 'not_found';
    must(!isLost, 'I1 acknowledged', `job ${id} was answered and is not there`);
  }

  lookedAbroad(id: string, outcome: JobsOutcome): void {
    must(outcome.kind !== 'answer', 'I11 tenant', `job ${id} is seen in another space`);
  }

  /** Once faults have stopped every job ends; then effects, keys and counters are compared with the runs. */
  async finish(cluster: AuditedCluster): Promise<void> {
    const process = new Process('audit');
    for (let round = 0; ; round += 1) {
      await this.#scheduler.sleep(process, ROUND_MS);
      const runtime = cluster.auditRuntime();
      if (runtime === undefined) continue;
      const store = new MemoryStore(cluster.database);
      const records = await scanned(store, [RUNS.name]);
      const runs = records.map((record) => readRun(record));
      const open = runs.filter((run) => isActive(run));
      if (open.length === 0) {
        await this.#compare(store, runs);
        const { faults } = await accountForRuns(runtime);
        must(faults.length === 0, 'admission', JSON.stringify(faults));
        return;
      }
      must(round < ROUNDS_MAX, 'progress', open.map(({ id, status }) => `${id} is ${status}`).join(', '));
    }
  }

  async #compare(store: MemoryStore, runs: readonly Run[]): Promise<void> {
    const counters = await scanned(store, [COUNTERS.name]);
    const counted = counters.filter(({ head }) => head['active'] !== 0);
    must(counted.length === 0, 'admission', `${counted.length} counters count what is over`);
    const jobs = runs.filter(({ job }) => job !== undefined);
    const keys = new Set(jobs.map(({ job, keyHash }) => `${job?.space} ${keyHash}`));
    must(keys.size === jobs.length, 'I3 one result', `${jobs.length} jobs have ${keys.size} keys`);
    for (const [key, ids] of this.#byKey) {
      const found = jobs.filter(({ id }) => ids.has(id));
      must(found.length === 1, 'I1 acknowledged', `the job of key ${key} is not there`);
    }
    const intruders = runs.filter(({ job, handlerId }) => job === undefined && handlerId === IMPORT_HANDLER);
    if (intruders.length > 0) this.reached.add('intruder rejected');
    for (const job of jobs) await this.#compareEffect(store, job);
  }

  /** Each notebook belongs to one key: a note of it is written once, and all of them where the job succeeded. */
  async #compareEffect(store: MemoryStore, run: Run): Promise<void> {
    const { job, id, status } = run;
    const records = await scanned(store, [NOTES.name], notesScope(job?.space ?? ''));
    const written = records.map(readNote).filter(({ notebook }) => notebook === job?.subject);
    const again = written.filter(({ revision, importedBy }) => revision !== 1 || importedBy !== id);
    must(again.length === 0, 'I4 revisions', `job ${id} wrote ${again.length} notes more than once`);
    const requested = job?.requested ?? 0;
    this.reached.add(status);
    const whole = status !== 'succeeded' || written.length === requested;
    must(whole, 'I2 whole', `job ${id} succeeded with ${written.length} of ${requested} notes`);
  }

  /** Inside a write of the store: the run of the simulation ends, not the write. */
  #must(...[holds, invariant, message]: Parameters<typeof must>): void {
    try {
      must(holds, invariant, message);
    } catch (error) {
      if (error instanceof Error) this.#scheduler.fail(error);
    }
  }
}

async function scanned(store: MemoryStore, collections: readonly string[], scope = EXECUTION_SCOPE) {
  const records: RecordData[] = [];
  for await (const page of store.scan(scope, { collections, pageSize: 100 })) records.push(...page.records);
  return records;
}
