import type { ExecutionRun, ExecutionRunRequest } from '../../contracts/generated/models.ts';
import type { ExecutionOperation, ExecutionOutcome, ExecutionRequest } from './execution-calls.ts';
import type { ExecutionCluster } from './execution-cluster.ts';
import { EXTERNAL, IN_PROCESS } from './execution-instance.ts';
import type { ExecutionOracle } from './execution-oracle.ts';
import type { Random } from './random.ts';
import { Process, TICK_MS } from './scheduler.ts';
import { must } from './violation.ts';

/** The state that all clients of one run share. */
export interface ExecutionWorkload {
  readonly cluster: ExecutionCluster;
  readonly oracle: ExecutionOracle;
  readonly random: Random;
  /** Runs that a client has seen. */
  readonly runIds: string[];
  /** Starts that were sent, to be sent again by others. */
  readonly requests: ExecutionRunRequest[];
}

export const PRODUCTS = ['red', 'blue'] as const;
export const EVENT_NAMES = ['go', 'stop'] as const;

/** The deeds of handlers, drawn with the run: they must not depend on who executes it. */
const DEEDS = ['succeed', 'wait event', 'wait timer', 'wait both', 'fail', 'invalid', 'time out', 'poison'];

const RETRIES_MAX = 6;

/** One user of the service, who speaks to whichever instance the balancer picks. */
export class ExecutionUser extends Process {
  protected readonly work: ExecutionWorkload;

  constructor(name: string, work: ExecutionWorkload) {
    super(name);
    this.work = work;
  }

  send<Id extends ExecutionOperation>(
    operation: Id,
    request: { readonly params?: object; readonly query?: object; readonly body?: object | null },
    instance: string = this.work.random.pick(this.work.cluster.shape.instances),
  ): Promise<ExecutionOutcome<Id>> {
    const { params = {}, query = {}, body = null } = request;
    const full = { operation, params, query, body } as unknown as ExecutionRequest<Id>;
    return this.work.cluster.call(this, instance, full);
  }

  /** Sends until there is an answer, or patience ends. */
  async persist<Id extends ExecutionOperation>(
    operation: Id,
    request: { readonly params?: object; readonly query?: object; readonly body?: object | null },
  ): Promise<ExecutionOutcome<Id>> {
    for (let tries = 1; ; tries++) {
      const outcome = await this.send(operation, request);
      const open = outcome.kind === 'failed' || outcome.kind === 'unknown';
      if (!open || tries === RETRIES_MAX) return outcome;
      await this.pause(6);
    }
  }

  pause(ticksMax: number): Promise<void> {
    return this.work.cluster.scheduler.sleep(this, this.work.random.below(ticksMax + 1) * TICK_MS, 'pause');
  }
}

/** Starts runs, with keys and without, and repeats what others started. */
export class Starter extends ExecutionUser {
  readonly #answers = new Map<string, string>();

  async run(turns: number): Promise<void> {
    const { random, requests } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(20);
      const again = requests.length > 0 && random.chance(0.25);
      const body = again ? random.pick(requests) : this.#request(turn);
      if (!again) requests.push(body);
      const outcome = await this.persist('startExecutionRun', { body });
      if (outcome.kind !== 'answer') continue;
      const { id } = outcome.body;
      if (!this.work.runIds.includes(id)) this.work.runIds.push(id);
      const { idempotencyKey: key } = body;
      if (typeof key !== 'string') continue;
      const name = JSON.stringify([body.scope, key]);
      const before = this.#answers.get(name) ?? id;
      const same = before === id || this.work.oracle.removed.has(before);
      must(same, 'admission', `${name} was answered with another run`);
      this.#answers.set(name, id);
    }
  }

  #request(turn: number): ExecutionRunRequest {
    const { random, cluster } = this.work;
    const handlerId = random.chance(0.02)
      ? 'nobody'
      : random.pick(
          random.chance(cluster.shape.outside ?? 0.7) || !cluster.shape.local ? EXTERNAL : IN_PROCESS,
        );
    const later = cluster.scheduler.now + random.below(100) * TICK_MS;
    const scoped = cluster.shape.policies.length > 0;
    return {
      handlerId,
      payload: { deed: random.pick(DEEDS), n: turn },
      idempotencyKey: random.chance(0.6) ? `${this.name}-${random.below(6)}` : null,
      scope: scoped ? { productId: random.pick(PRODUCTS), tenantId: 't' } : null,
      scheduledAtUtc: random.chance(0.2) ? new Date(later).toISOString() : null,
      retryPolicy: random.chance(0.5)
        ? {
            maxAttempts: 1 + random.below(3),
            initialDelaySeconds: 1,
            maxDelaySeconds: 4,
            backoffMultiplier: 2,
          }
        : null,
    };
  }
}

/** Cancels runs and raises events into them, also those that are over. */
export class Meddler extends ExecutionUser {
  async run(turns: number): Promise<void> {
    const { random, runIds } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(30);
      if (runIds.length === 0) continue;
      const params = { runId: random.pick(runIds) };
      if (random.chance(0.25)) {
        await this.persist('cancelExecutionRun', { params });
        continue;
      }
      const body = { name: random.pick(EVENT_NAMES), payload: { turn } };
      for (let copies = random.chance(0.2) ? 4 : 1; copies > 0; copies--) {
        await this.send('raiseExecutionEvent', { params, body });
      }
    }
  }
}

/** Prunes far too much, and searches for lost records. */
export class Maintainer extends ExecutionUser {
  async run(turns: number): Promise<void> {
    const { random } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(40);
      if (random.chance(0.4)) {
        const body = { dryRun: random.chance(0.2), retainTerminalRuns: random.below(5) };
        await this.send('pruneExecutionRuntimeMaintenance', { body });
      } else if (random.chance(0.8)) {
        const body = { dryRun: random.chance(0.2), limit: 1 + random.below(20) };
        await this.send('reconcileExecutionRuntimeDispatch', { body });
      } else await this.send('getExecutionRuntimeMaintenance', {});
    }
  }
}

/** Reads runs, and knows what was seen before: a run that is over stays as it is. */
export class Watcher extends ExecutionUser {
  readonly #over = new Map<string, string>();

  async run(turns: number): Promise<void> {
    const { random, runIds } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(20);
      if (runIds.length === 0) continue;
      const params = { runId: random.pick(runIds) };
      const query = random.chance(0.3) ? { waitSeconds: 1 } : {};
      const outcome = await this.send('getExecutionRun', { params, query });
      if (outcome.kind === 'answer') this.#see(outcome.body);
      if (random.chance(0.3)) await this.send('getExecutionRunHistory', { params });
    }
  }

  #see({ id, status, completedAtUtc, result }: ExecutionRun): void {
    const seen = this.#over.get(id);
    const now = JSON.stringify([status, completedAtUtc, result]);
    must(seen === undefined || seen === now, 'linearizable', `${id} was ${seen} and is ${now}`);
    if (completedAtUtc !== null) this.#over.set(id, now);
  }
}
