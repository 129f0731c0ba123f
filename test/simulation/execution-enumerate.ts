import type { ExecutionExternalWorkerLease } from '../../contracts/generated/models.ts';
import type { Options } from './canonical.ts';
import { createExecutionWorld, type ExecutionWorld, runExecution } from './execution.ts';
import type { ExecutionOperation, ExecutionOutcome } from './execution-calls.ts';
import { ExecutionUser } from './execution-clients.ts';
import { NO_EXECUTION_FAULTS } from './execution-faults.ts';
import { ExecutionAudit } from './execution-final.ts';
import type { Shape } from './execution-instance.ts';
import { must } from './violation.ts';

const CLIENTS = [
  'start',
  'cancel a queued run',
  'cancel a running run',
  'raise into a wait',
  'raise ahead',
] as const;
const WORKERS = [
  'lease',
  'lease by id',
  'lease by key',
  'heartbeat',
  'report',
  'checkpoint',
  'wait for an event',
  'wait for a timer',
  'take an outcome',
  'succeed',
  'succeed by key',
  'fail and retry',
  'fail for good',
  'complete what is to be cancelled',
] as const;
/** The work that an instance does by itself: the lease of a lost worker has run out. */
const OWN = ['take back', 'end what was to be cancelled', 'fire a timer'] as const;

export const EXECUTION_PROTOCOLS = [...CLIENTS, ...WORKERS, ...OWN] as const;
export type ExecutionProtocol = (typeof EXECUTION_PROTOCOLS)[number];

/** As in `enumerate.ts`: sent again, never again, or under way twice. */
export const EXECUTION_AFTERMATHS = ['retry', 'nobody', 'rival'] as const;
export type ExecutionAftermath = (typeof EXECUTION_AFTERMATHS)[number];

const SHAPE: Shape = {
  instances: ['A', 'B'],
  local: true,
  marks: true,
  patient: true,
  activeRunsMax: 4,
  counterShards: 1,
  policies: [],
};

/** Runs one operation, kills its instance at the await number `point`, and checks everything afterwards. */
export async function crashExecutionAt(
  protocol: ExecutionProtocol,
  point: number,
  aftermath: ExecutionAftermath,
  options: Options & { readonly seed?: number } = {},
): Promise<{ readonly crashed: boolean; readonly violation: Error | undefined }> {
  const { seed = 1 } = options;
  const world = createExecutionWorld(seed, { shape: SHAPE, faults: { ...NO_EXECUTION_FAULTS }, options });
  const actor = new Actor('actor', world.work);
  let crashed = false;
  await runExecution(world, async () => {
    const step = await actor.prepare(protocol);
    const hasCrashed = armCrash(world, point);
    const rival = aftermath === 'rival' && step !== null ? actor.through('B', step) : undefined;
    const first = step === null ? await actor.idle() : await actor.through('A', step);
    crashed = hasCrashed();
    world.scheduler.beforeStep = () => undefined;
    if (step !== null && first.kind !== 'unknown') checkAgain(protocol, first, 'at first');
    const second = await rival;
    if (second !== undefined) checkAgain(protocol, second, 'by a rival');
    if (aftermath === 'retry' && step !== null) {
      for (const instance of ['B', 'A']) checkAgain(protocol, await actor.through(instance, step), instance);
    }
    await new ExecutionAudit('audit', world.work).run();
  });
  return { crashed, violation: world.scheduler.failure };
}

/** Lets instance A go on `point - 1` times, and dies in place of the next. */
function armCrash({ scheduler, cluster }: ExecutionWorld, point: number): () => boolean {
  let awaits = 0;
  scheduler.beforeStep = (process) => {
    if (process.name === 'A' && ++awaits === point) cluster.crash('A', 0);
  };
  return () => awaits >= point;
}

interface Step {
  readonly operation: ExecutionOperation;
  readonly params?: object;
  readonly body?: object | null;
}

const TTL_SECONDS = 60;
/** Runs out before any heartbeat. */
const SHORT_SECONDS = 5;

class Actor extends ExecutionUser {
  /** An instance that has not come up again yet refuses the connection. */
  async through(instance: string, { operation, params = {}, body = null }: Step): Promise<ExecutionOutcome> {
    for (;;) {
      const outcome = await this.send(operation, { params, body }, instance);
      if (outcome.kind !== 'failed') return outcome;
      await this.pause(2);
    }
  }

  /** Time enough for upkeep to settle all due runs. */
  async idle(): Promise<ExecutionOutcome> {
    await this.work.cluster.scheduler.sleep(this, 4 * SHORT_SECONDS * 1_000);
    return { kind: 'unknown' };
  }

  /** Prepares a run for the operation, and returns the request to send; `null` where only time must pass. */
  async prepare(protocol: ExecutionProtocol): Promise<Step | null> {
    const handlerId = protocol.endsWith('by key') ? 'x-key' : 'x-free';
    const start = { handlerId, idempotencyKey: 'k', payload: { deed: 'succeed' }, retryPolicy: TWICE };
    if (protocol === 'start') return { operation: 'startExecutionRun', body: start };
    const runId = await this.#started(start);
    const params = { runId };
    const wish = { workerId: 'w', handlerIds: [handlerId], ttlSeconds: TTL_SECONDS };
    switch (protocol) {
      case 'cancel a queued run':
        return { operation: 'cancelExecutionRun', params };
      case 'raise ahead':
        return { operation: 'raiseExecutionEvent', params, body: { name: 'go' } };
      case 'lease':
        return { operation: 'leaseExternalExecutionRun', body: wish };
      case 'lease by id':
      case 'lease by key':
        return { operation: 'leaseExternalExecutionRun', body: { ...wish, runId } };
      default:
        return this.#held(protocol, runId, start);
    }
  }

  async #started(body: object): Promise<string> {
    const outcome = await this.through('B', { operation: 'startExecutionRun', body });
    must(outcome.kind === 'answer', 'progress', 'nothing could be started');
    return (outcome.body as { readonly id: string }).id;
  }

  async #held(
    protocol: ExecutionProtocol,
    runId: string,
    start: { handlerId: string },
  ): Promise<Step | null> {
    const own = OWN.some((each) => each === protocol);
    const proof = await this.#leased(runId, start.handlerId, own ? SHORT_SECONDS : TTL_SECONDS);
    // A second run waits for the key, so that freeing it must send a message.
    if (start.handlerId === 'x-key') await this.#started({ ...start, idempotencyKey: 'next' });
    const params = { runId };
    const cancel: Step = { operation: 'cancelExecutionRun', params };
    const wait: Step = {
      operation: 'waitExternalExecutionLease',
      body: { ...proof, kind: 'external_event', name: 'go' },
    };
    switch (protocol) {
      case 'cancel a running run':
        return cancel;
      case 'raise into a wait':
        await this.through('B', wait);
        return { operation: 'raiseExecutionEvent', params, body: { name: 'go' } };
      case 'wait for an event':
        return wait;
      case 'wait for a timer':
        return { ...wait, body: { ...proof, kind: 'timer', name: 'nap', fireAtUtc: this.#soon() } };
      case 'take an outcome':
        await this.through('B', { operation: 'raiseExecutionEvent', params, body: { name: 'go' } });
        return wait;
      case 'take back':
        return null;
      case 'end what was to be cancelled':
        await this.through('B', cancel);
        return null;
      case 'fire a timer':
        await this.through('B', {
          ...wait,
          body: { ...proof, kind: 'timer', name: 'nap', fireAtUtc: this.#soon() },
        });
        return null;
      case 'complete what is to be cancelled':
        await this.through('B', cancel);
        return {
          operation: 'completeExternalExecutionLease',
          body: { ...proof, result: { status: 'succeeded' } },
        };
      default:
        return callOf(protocol, proof);
    }
  }

  async #leased(runId: string, handlerId: string, ttlSeconds: number) {
    const body = { workerId: 'w', handlerIds: [handlerId], ttlSeconds, runId };
    const outcome = await this.through('B', { operation: 'leaseExternalExecutionRun', body });
    must(outcome.kind === 'answer' && outcome.body !== null, 'progress', 'nothing could be leased');
    const { leaseKey, leaseToken } = outcome.body as ExecutionExternalWorkerLease;
    return { leaseKey, leaseToken, workerId: 'w' };
  }

  #soon(): string {
    return new Date(this.work.cluster.now('B') + SHORT_SECONDS * 1_000).toISOString();
  }
}

const TWICE = { maxAttempts: 2, initialDelaySeconds: 1, maxDelaySeconds: 1, backoffMultiplier: 1 };

/** The call of a worker about the run that it holds. */
function callOf(protocol: ExecutionProtocol, proof: object): Step {
  const failed = { status: 'failed', error: 'failed' };
  switch (protocol) {
    case 'heartbeat':
      return { operation: 'heartbeatExternalExecutionLease', body: { ...proof, ttlSeconds: TTL_SECONDS } };
    case 'report':
      return {
        operation: 'reportExternalExecutionLease',
        body: { ...proof, update: { currentStep: 'one' } },
      };
    case 'checkpoint': {
      const checkpoint = { key: 'c', content: { n: 1 } };
      return { operation: 'putExternalExecutionLeaseCheckpoint', body: { ...proof, checkpoint } };
    }
    case 'fail and retry':
      return complete(proof, { ...failed, failureClass: 'transient' });
    case 'fail for good':
      return complete(proof, { ...failed, failureClass: 'validation' });
    default:
      return complete(proof, { status: 'succeeded', result: { n: 1 } });
  }
}

function complete(proof: object, result: object): Step {
  return { operation: 'completeExternalExecutionLease', body: { ...proof, result } };
}

/** Checks that a repeated sending got a possible answer; the oracle has checked already that it is the right one. */
function checkAgain(protocol: ExecutionProtocol, outcome: ExecutionOutcome, which: string): void {
  const code = outcome.kind === 'refused' ? outcome.error.code : outcome.kind;
  // Parked by the first, and perhaps leased anew since.
  const parks = protocol.startsWith('wait') || protocol === 'take an outcome';
  const fine = code === 'answer' || (parks && (code === 'lease_not_active' || code === 'lease_stale'));
  must(fine, 'answer', `${protocol} ${which} was answered ${code}`);
}
