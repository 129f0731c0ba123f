import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { reconcileAll } from '../../functions/runs/maintenance/reconcile.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { StoreError } from '../../functions/store/port.ts';
import { duringExecutionCall } from './execution-calls.ts';
import { ExecutionUser, type ExecutionWorkload, PRODUCTS } from './execution-clients.ts';
import type { SimulatedTasks } from './execution-cloud-tasks.ts';
import { EXTERNAL, IN_PROCESS } from './execution-instance.ts';
import { isOver } from './execution-transitions.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { TICK_MS } from './scheduler.ts';
import { must } from './violation.ts';

const DAY_MS = 86_400_000;

/** A worker that never polls: it leases only runs whose messages were delivered to it. */
export class DeliveredWorker extends SimulatedWorker {
  readonly #tasks: SimulatedTasks;

  constructor(name: string, workerId: string, work: ExecutionWorkload, tasks: SimulatedTasks) {
    super(name, workerId, work);
    this.#tasks = tasks;
  }

  override async run(turns: number): Promise<void> {
    const { random, cluster } = this.work;
    for (let turn = 0; turn < turns && !this.stopped; turn++) {
      const { messages } = cluster;
      const [message] = messages.splice(random.below(messages.length), 1);
      if (message === undefined) {
        await this.#tasks.arrival;
        continue;
      }
      const { runId } = message;
      const ttlSeconds = random.chance(0.3) ? 1 + random.below(6) : 20 + random.below(40);
      const body = { workerId: this.workerId, handlerIds: [...EXTERNAL], ttlSeconds, runId };
      const outcome = await this.send('leaseExternalExecutionRun', { body });
      // The queue delivers a failed message again.
      if (outcome.kind === 'failed' || outcome.kind === 'unknown') messages.push(message);
      if (outcome.kind === 'answer' && outcome.body !== null) await this.execute(outcome.body);
      await this.pause(4);
    }
  }
}

/** Starts runs for a day that is further away than the queue takes. */
export class FarStarter extends ExecutionUser {
  async run(turns: number): Promise<void> {
    const { random, cluster, runIds } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(40);
      const at = cluster.scheduler.now + (20 + random.below(80)) * DAY_MS;
      const body = {
        handlerId: random.pick([...IN_PROCESS, ...EXTERNAL]),
        payload: { deed: 'succeed' },
        scope: cluster.shape.policies.length > 0 ? { productId: random.pick(PRODUCTS), tenantId: 't' } : null,
        scheduledAtUtc: new Date(at).toISOString(),
      };
      const outcome = await this.send('startExecutionRun', { body });
      if (outcome.kind === 'answer') runIds.push(outcome.body.id);
    }
  }
}

const PERIOD_MS = 60_000;

/** Has the function `reconcile` called every minute, and sometimes twice at once. */
export class SimulatedCron extends ExecutionUser {
  /** From now on nothing fails, so its calls must succeed. */
  isCalm = false;
  readonly #tasks: SimulatedTasks;

  constructor(name: string, work: ExecutionWorkload, tasks: SimulatedTasks) {
    super(name, work);
    this.#tasks = tasks;
  }

  async run(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      await this.work.cluster.scheduler.sleep(this, PERIOD_MS, 'a minute');
      await this.once();
    }
  }

  async once(): Promise<void> {
    const copies = this.work.random.chance(0.3) ? 2 : 1;
    await Promise.all(Array.from({ length: copies }, () => this.#call()));
  }

  async #call(): Promise<void> {
    const { isCalm } = this;
    const summary = await this.#tasks.during(({ runtime }) =>
      duringExecutionCall(undefined, () => reconciled(runtime)),
    );
    if (summary === null || !isCalm) return;
    this.work.oracle.reach('reconciled');
    const { failed, faults } = summary;
    must(failed === 0, 'progress', `a reconcile failed for ${failed} runs, and nothing fails`);
    must(faults.length === 0, 'I10 looked after', JSON.stringify(faults));
  }
}

/** Reconciles, then accounts for all runs; `null` where the store failed. */
async function reconciled(runtime: Runtime) {
  try {
    const { failed } = await reconcileAll(runtime, runtime.world.clock.now(), {
      deadline: Number.MAX_SAFE_INTEGER,
    });
    const { faults } = await accountForRuns(runtime);
    return { failed, faults };
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

const LOOKS_MAX = 400;
/** Each look is later than the one before, since the queue repeats the message of a long wait ever more rarely. */
const LATER = 1.05;
const LOOK_MS = 2_000;
const LOOK_MS_MAX = DAY_MS;

/** Once faults have stopped, every run ends, and then every message. The oracle checks that no message changes an ended run. */
export class CloudAudit extends ExecutionUser {
  /** Without a `cron` messages alone must do. */
  async run(tasks: SimulatedTasks, cron: SimulatedCron | null): Promise<void> {
    if (cron !== null) cron.isCalm = true;
    await this.#untilAllIsOver(cron);
    await this.#untilAllIsDelivered(tasks);
  }

  async #untilAllIsOver(cron: SimulatedCron | null): Promise<void> {
    const { oracle, cluster } = this.work;
    let pauseMs = LOOK_MS;
    for (let looks = 1; ; looks++) {
      const left = oracle.runs.filter((run) => !isOver(run));
      if (left.length === 0) return;
      const names = left.map((run) => `${run.id} of ${run.handlerId} is ${run.status}`).join(', ');
      must(looks < LOOKS_MAX, 'progress', `nothing fails any more, and ${names}`);
      for (const { id, wait } of left) {
        if (wait?.kind !== 'external_event') continue;
        const body = { name: wait.name, payload: null };
        await this.persist('raiseExecutionEvent', { params: { runId: id }, body });
      }
      pauseMs = Math.min(pauseMs * LATER, LOOK_MS_MAX);
      await cluster.scheduler.sleep(this, Math.ceil(pauseMs / TICK_MS) * TICK_MS, 'look');
      await cron?.once();
    }
  }

  async #untilAllIsDelivered(tasks: SimulatedTasks): Promise<void> {
    const { cluster } = this.work;
    for (let looks = 1; tasks.size > 0 || cluster.messages.length > 0; looks++) {
      must(looks < LOOKS_MAX, 'progress', 'every run is over, and messages are delivered again and again');
      await cluster.scheduler.sleep(this, DAY_MS / 4, 'drain');
    }
  }
}
