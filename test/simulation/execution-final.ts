import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { ExecutionUser } from './execution-clients.ts';
import { EXECUTION } from './execution-instance.ts';
import { isExternal, isOver } from './execution-transitions.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { must } from './violation.ts';

/** The interval of the checks for the end; one step of the simulation may take much longer. */
const LOOK_EVERY_MS = 1_000;
/** The number of checks after which all remaining runs must have ended, once faults have stopped. */
const LOOKS_MAX = 600;

/** Checks the conditions that must hold in the end, after any faults. */
export class ExecutionAudit extends ExecutionUser {
  async run(): Promise<void> {
    await this.#account();
    await this.#untilAllIsOver();
    await this.#account();
    const { oracle, cluster } = this.work;
    const records = cluster.database.all(EXECUTION).map(({ record }) => record);
    oracle.checkStored(records);
    const counted = records
      .filter(({ key }) => key.collection === 'counters')
      .reduce((sum, { head }) => sum + Number(head.active ?? 0), 0);
    must(counted === 0, 'admission', `${counted} runs are still counted, and none is active`);
    await this.#checkReads();
    await this.#checkKeys();
    await this.#pruneAll();
  }

  /** Two prunes at the same time remove everything together, and leave nothing of it. */
  async #pruneAll(): Promise<void> {
    const { cluster, oracle } = this.work;
    const body = { dryRun: false, retainTerminalRuns: 0 };
    const [one, other] = await Promise.all(
      [0, 1].map(() => this.send('pruneExecutionRuntimeMaintenance', { body })),
    );
    must(one?.kind === 'answer' && other?.kind === 'answer', 'answer', 'a prune was refused');
    must(oracle.runs.length === 0, 'I8 run', `${oracle.runs.length} runs are left`);
    const left = cluster.database.all(EXECUTION).filter(({ record }) => record.key.collection !== 'counters');
    const names = left
      .map(({ record }) => `${record.key.collection} ${JSON.stringify(record.head)}`)
      .join(', ');
    must(left.length === 0, 'I8 run', `all runs are pruned, and there is ${names}`);
  }

  /** No active run is forgotten after any fault: time, a worker or an event comes for each. */
  async #account(): Promise<void> {
    const { cluster } = this.work;
    let runtime = cluster.runtime();
    while (runtime === undefined) {
      await cluster.scheduler.sleep(this, LOOK_EVERY_MS, 'look');
      runtime = cluster.runtime();
    }
    const { faults } = await accountForRuns(runtime);
    const faultList = faults.map(({ runId, fault }) => `${runId}: ${fault}`).join(', ');
    must(faults.length === 0, 'I10 looked after', faultList);
  }

  /** Workers that never fail, and a client that raises the awaited events. */
  async #untilAllIsOver(): Promise<void> {
    const { oracle, cluster } = this.work;
    // With policies each product has a worker of its own, and the one must not keep the other from its runs.
    const restricted = cluster.shape.policies.length > 0;
    const workers = ['w0', 'w1', restricted ? 'w0' : 'w-last'].map(
      (workerId, n) => new SimulatedWorker(`last-${n}`, workerId, this.work, cluster.shape.patient),
    );
    const working = workers.map((worker) => worker.run(Number.POSITIVE_INFINITY));
    for (let looks = 1; ; looks++) {
      const left = oracle.runs.filter((run) => !isOver(run));
      if (left.length === 0) break;
      const names = left.map((run) => `${run.id} of ${run.handlerId} is ${run.status}`).join(', ');
      must(looks < LOOKS_MAX, 'progress', `after ten minutes without a fault ${names}`);
      for (const { id, wait } of left) {
        if (wait?.kind !== 'external_event') continue;
        const body = { name: wait.name, payload: null };
        await this.persist('raiseExecutionEvent', { params: { runId: id }, body });
      }
      await cluster.scheduler.sleep(this, LOOK_EVERY_MS, 'look');
    }
    for (const worker of workers) worker.stopped = true;
    await Promise.all(working);
  }

  /** Each instance shows each run as it was left, and the lists by status add up to all. */
  async #checkReads(): Promise<void> {
    const { oracle, cluster } = this.work;
    for (const instance of cluster.shape.instances) {
      let listed = 0;
      for (const status of [
        'queued',
        'running',
        'waiting',
        'succeeded',
        'failed',
        'cancelled',
        'rejected',
        'timed_out',
      ]) {
        const list = await this.send('listExecutionRuns', { query: { status, limit: 200 } }, instance);
        must(list.kind === 'answer', 'answer', 'a list was refused');
        listed += list.body.length;
        for (const { id } of list.body) {
          must(oracle.current(id)?.status === status, 'I13 counts', `${id} is listed as ${status}`);
        }
      }
      must(listed === oracle.runs.length, 'I13 counts', `${listed} runs are listed`);
    }
    for (const { id, traced, traceDropped } of oracle.runs) {
      await this.persist('getExecutionRun', { params: { runId: id } });
      const history = await this.persist('getExecutionRunHistory', {
        params: { runId: id },
        query: { limit: 200 },
      });
      const whole = history.kind === 'answer' && history.body.length === Math.min(200, traced - traceDropped);
      must(whole, 'I12 trace', `the history of ${id} is not whole`);
    }
  }

  /** Every key once more, as a client would that never heard an answer: nothing new is started for it. */
  async #checkKeys(): Promise<void> {
    const { requests, oracle } = this.work;
    for (const body of requests) {
      const key = body.idempotencyKey;
      if (typeof key !== 'string' || !isExternal(body.handlerId)) continue;
      const runs = oracle.versions.size;
      const outcome = await this.persist('startExecutionRun', { body });
      if (outcome.kind === 'answer' && outcome.body.admission.replayed) {
        must(oracle.versions.size === runs, 'admission', `${key} was used a second time`);
      } else if (outcome.kind === 'answer') {
        await this.persist('cancelExecutionRun', { params: { runId: outcome.body.id } });
      }
    }
  }
}
