import { batchUpsert } from '../../functions/collections/batch-upsert.ts';
import { type ImportJob, importCollection } from '../../functions/collections/import-collection.ts';
import type { RecordParts } from '../../functions/collections/parts.ts';
import type { BatchResult } from '../../functions/collections/rules/batch.ts';
import { type RecordsCluster, SPACE } from './records-cluster.ts';
import type { RecordsModel } from './records-model.ts';
import type { Process } from './scheduler.ts';
import { must } from './violation.ts';

/** An announcement of a replacement may be swept when it is this old. */
const LATE_MS = 240_000;

/** A job that loads records: executed until one execution of it has answered. */
export interface Load {
  readonly id: string;
  readonly kind: 'batch' | 'import' | 'replace';
  readonly name: string;
  readonly text: string;
  /** The markers of its items, in their order. */
  readonly markers: readonly string[];
  status: 'active' | 'done' | 'refused' | 'given up';
  result: string | undefined;
}

export class RecordsJobs {
  readonly loads: Load[] = [];
  readonly reached: Set<string>;
  readonly #cluster: RecordsCluster;
  readonly #model: RecordsModel;

  constructor(cluster: RecordsCluster, model: RecordsModel, reached: Set<string>) {
    this.#cluster = cluster;
    this.#model = model;
    this.reached = reached;
  }

  isActive(runId: string): boolean {
    return this.loads.some(({ id, status }) => id === runId && status === 'active');
  }

  active(): Load[] {
    return this.loads.filter(({ status }) => status === 'active');
  }

  /** One execution, which may meet another of the same job. */
  async execute(worker: Process, load: Load): Promise<void> {
    const { scheduler } = this.#cluster;
    const from = this.#model.version;
    const startedAt = scheduler.now;
    const job = (process: Process): ImportJob => ({
      runId: load.id,
      space: SPACE,
      collection: load.name,
      text: () => Promise.resolve(load.text),
      signal: new AbortController().signal,
      decide: () => Promise.resolve(),
      judgeReplacement: () => undefined,
      // Now and then a job takes longer than a retired collection rests.
      progress: () => scheduler.sleep(process, scheduler.random.chance(0.1) ? 900_000 : 0, load.id),
    });
    const serve = (parts: RecordParts, process: Process) =>
      load.kind === 'batch'
        ? batchUpsert(parts, job(process))
        : importCollection(parts, job(process)).then(({ records }) => records);
    const outcome = await this.#cluster.call(worker, serve);
    if (outcome.kind === 'unknown') return;
    if (outcome.kind === 'refused') {
      const tookMs = scheduler.now - startedAt;
      // A replacement whose announcement may be swept by now begins again with its next execution.
      const beganLate = load.kind === 'replace' && outcome.code === 'lease_not_active' && tookMs >= LATE_MS;
      if (beganLate) this.reached.add('replace began late');
      else this.#refused(load, outcome.code, from);
      return;
    }
    this.#answered(load, outcome.value);
    const isLost = load.kind === 'replace' && !this.#model.hasReplaced(load.id);
    must(!isLost, 'I1 acknowledged', `${load.id} succeeded and replaced nothing`);
    if (load.status === 'active') load.status = 'done';
    this.reached.add(`${load.kind} done`);
  }

  #refused(load: Load, code: string, from: number): void {
    this.reached.add(`${load.kind} ${code}`);
    if (code === 'collection_not_found') {
      const window = { from, to: this.#model.version };
      this.#model.absent(load.name, window);
      if (load.status === 'active') load.status = 'refused';
      return;
    }
    const isOver = code === 'lease_not_active' && load.status !== 'active';
    must(isOver, 'answer', `${load.id} is ${load.status} and was refused with ${code}`);
  }

  /** Each item is counted once, and each that succeeded was written once. */
  #answered(load: Load, result: BatchResult): void {
    const text = JSON.stringify(result);
    must(load.result === undefined || load.result === text, 'I3 one result', `${load.id} has two results`);
    load.result = text;
    const { requested, attempted, succeeded, failed, items } = result;
    const counts = `${attempted} of ${requested}, ${succeeded} and ${failed}`;
    must(requested === load.markers.length, 'I2 whole', `${load.id} counts ${counts}`);
    must(
      attempted === items.length && attempted === succeeded + failed,
      'I2 whole',
      `${load.id} counts ${counts}`,
    );
    must(attempted === requested && failed === 0, 'I2 whole', `${load.id} ended with ${counts}`);
    for (const [index, item] of items.entries()) {
      must(item.index === index, 'I2 whole', `${load.id} lists item ${item.index} at ${index}`);
      const revision = this.#model.revisionOf(load.markers[index] ?? '');
      must(revision === item.revision, 'I2 whole', `item ${index} of ${load.id} has ${revision}`);
    }
  }
}
