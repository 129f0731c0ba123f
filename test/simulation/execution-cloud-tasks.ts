import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../functions/kernel/world.ts';
import { CloudTasksQueue } from '../../functions/queue/cloud-tasks/cloud-tasks-queue.ts';
import type { QueueTask } from '../../functions/queue/cloud-tasks/message.ts';
import type { RunMessage, RunQueue } from '../../functions/queue/port.ts';
import type { Delivered } from '../../functions/runs/engine.ts';
import { executionCall } from './execution-calls.ts';
import type { ExecutionFaults } from './execution-faults.ts';
import type { ExecutionInstance } from './execution-instance.ts';
import type { ExecutionOracle } from './execution-oracle.ts';
import { isExternal } from './execution-transitions.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';

export interface CloudFaults extends ExecutionFaults {
  /** A task is due later than it says. */
  messageLate: number;
}

/** The changes of a planted bug between the runtime and the service of tasks. */
export interface CloudFlaw {
  readonly about: string;
  /** `null` where the message is not sent. */
  readonly message?: (message: RunMessage, isAgain: boolean) => RunMessage | null;
  readonly task?: (task: QueueTask) => QueueTask;
  readonly refusesUsedNames?: true;
  /** The hosted worker's treatment of a delivery. */
  readonly delivered?: (delivered: Delivered) => Delivered;
}

export interface TasksParts {
  readonly scheduler: Scheduler;
  readonly faults: CloudFaults;
  /** Receives the deliveries to external workers. */
  readonly outside: (runId: string) => void;
  readonly oracle: ExecutionOracle;
  /** Whether the name of a task that has ended can be taken again after a while. */
  readonly forgetsNames: boolean;
  readonly flaw?: CloudFlaw | undefined;
}

interface Member {
  readonly process: Process;
  readonly instance: ExecutionInstance;
}

const QUEUE = 'projects/p/locations/l/queues/q';
const DAY_MS = 86_400_000;
/** The furthest schedule that the service takes. */
const SCHEDULE_MS_MAX = 30 * DAY_MS;
const NAME_HELD_MS = 3_600_000;
/** Between two tries to deliver, at most. */
const BACKOFF_TICKS = 200;
const LATE_TICKS = 600;
const TRIES_MAX = 3;

interface Delivery {
  readonly runId: string;
  /** Whether the run is as it was when the delivery began. */
  readonly isUntouched: () => boolean;
}

const deliveryAtHand = new AsyncLocalStorage<Delivery | undefined>();

/** Whether the work at hand is a delivery of this run that has changed nothing yet. */
export function isBeingDelivered(runId: string): boolean {
  const delivery = deliveryAtHand.getStore();
  return delivery?.runId === runId && delivery.isUntouched();
}

/** Cloud Tasks as the runtime meets it: names that were used are refused, and deliveries are what the faults make of them. */
export class SimulatedTasks {
  readonly #parts: TasksParts;
  readonly #process = new Process('tasks');
  #arrival = Promise.withResolvers<void>();
  readonly #names = new Set<string>();
  readonly #under = new Set<string>();
  readonly #members = new Map<string, Member>();

  constructor(parts: TasksParts) {
    this.#parts = parts;
  }

  /** Tasks that have not ended. */
  get size(): number {
    return this.#under.size;
  }

  /** Settles with the next delivery to a worker outside. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  wake(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers<void>();
  }

  /** The queue of one instance. */
  queueOf(process: Process, clock: Clock, hint: (handlerId: string) => void): RunQueue {
    const { flaw } = this.#parts;
    const service = {
      create: (_: string, task: QueueTask) => this.#create(process, task),
      close: async () => {},
    };
    const routeOf = (handlerId: string) => ({
      queue: QUEUE,
      url: `https://worker/${handlerId}`,
      serviceAccountEmail: null,
      audience: null,
    });
    const queue = new CloudTasksQueue({ tasks: () => Promise.resolve(service), routeOf, clock, hint });
    return {
      delivers: true,
      enqueue: (message) => {
        const sent = flaw?.message === undefined ? message : flaw.message(message, this.#isAgain(message));
        return sent === null ? undefined : queue.enqueue(sent);
      },
    };
  }

  /** An instance that takes deliveries, in place of the one of this name that died. */
  join(process: Process, instance: ExecutionInstance): void {
    this.#members.set(process.name, { process, instance });
  }

  /** Runs the work of an instance that no client requested; `null` where the instance is down, or dies over it. */
  async during<T>(act: (instance: ExecutionInstance) => Promise<T>): Promise<T | null> {
    const member = this.#members.get(this.#parts.scheduler.random.pick([...this.#members.keys()]));
    if (member?.process.alive !== true) return null;
    const { promise: died, resolve } = Promise.withResolvers<null>();
    const forget = member.process.onDeath(() => resolve(null));
    try {
      return await Promise.race([act(member.instance), died]);
    } finally {
      forget();
    }
  }

  /** Whether an instance found a message to be early, and schedules it again. */
  #isAgain({ runId }: RunMessage): boolean {
    const call = executionCall();
    if (call === undefined) return isBeingDelivered(runId);
    const { runId: wanted } = (call.body ?? {}) as { readonly runId?: string };
    return wanted === runId && call.wrote.length === 0;
  }

  #versions(runId: string): number {
    return this.#parts.oracle.versions.get(runId)?.length ?? 0;
  }

  /** Creates a task as the client does: it retries where the service does not answer, and takes a used name for success. */
  async #create(process: Process, task: QueueTask): Promise<void> {
    const { scheduler, faults, flaw } = this.#parts;
    const { random } = scheduler;
    for (let tries = 1; ; tries++) {
      await scheduler.park(process, 'task >');
      const refused = random.chance(faults.queueRefuses);
      if (!refused || random.chance(0.5)) {
        const taken = this.#accept(flaw?.task?.(task) ?? task);
        if (!taken && flaw?.refusesUsedNames === true) throw new Error('ALREADY_EXISTS');
      }
      await scheduler.park(process, 'task <');
      if (!refused) return;
      if (tries === TRIES_MAX) throw new Error('the service of tasks does not answer');
    }
  }

  #accept(task: QueueTask): boolean {
    const { scheduler, faults, oracle } = this.#parts;
    const { name, scheduleTime } = task;
    const at =
      scheduleTime === undefined ? scheduler.now : scheduleTime.seconds * 1_000 + scheduleTime.nanos / 1e6;
    // By its own clock, and with room for those of others.
    if (at > scheduler.now + SCHEDULE_MS_MAX) throw new Error('INVALID_ARGUMENT');
    const { runId, reason } = messageOf(task);
    const of = `${reason} of ${runId.slice(-6)}, ${name.slice(-6)}`;
    if (this.#names.has(name)) {
      scheduler.note(`task again: ${of}`);
      oracle.reach('name used');
      return false;
    }
    scheduler.note(`task: ${of} in ${at - scheduler.now} ms`);
    this.#names.add(name);
    this.#under.add(name);
    const lateMs = scheduler.random.chance(faults.messageLate)
      ? scheduler.random.below(LATE_TICKS) * TICK_MS
      : 0;
    this.#after(Math.max(0, at - scheduler.now) + lateMs, () => this.#send(task));
    return true;
  }

  #after(delayMs: number, act: () => void): void {
    this.#parts.scheduler.after(this.#process, delayMs, act, 'task is due');
  }

  #send(task: QueueTask): void {
    const { scheduler, faults, oracle } = this.#parts;
    const { random } = scheduler;
    if (random.chance(faults.messageLost)) {
      oracle.reach('delivery lost');
      return this.#end(task);
    }
    if (random.chance(faults.messageTwice)) {
      oracle.reach('delivery twice');
      this.#after(
        random.chance(0.5) ? 0 : random.below(BACKOFF_TICKS) * TICK_MS,
        () => void this.#deliver(task),
      );
    }
    void this.#deliver(task).then((done) => {
      if (done) return this.#end(task);
      oracle.reach('delivery again');
      this.#after((1 + random.below(BACKOFF_TICKS)) * TICK_MS, () => this.#send(task));
    });
  }

  /** Whether it need not come again. */
  async #deliver(task: QueueTask): Promise<boolean> {
    const { flaw, oracle } = this.#parts;
    const { runId } = messageOf(task);
    this.#parts.scheduler.note(`task arrives: ${task.name.slice(-6)}`);
    if (isExternal(task.httpRequest.url.split('/').at(-1) ?? '')) {
      this.#parts.outside(runId);
      this.wake();
      return true;
    }
    const begun = this.#versions(runId);
    const isUntouched = () => this.#versions(runId) === begun;
    try {
      const delivered = await this.during((instance) =>
        deliveryAtHand.run({ runId, isUntouched }, () => instance.deliver(runId)),
      );
      if (delivered === null) return false;
      oracle.reach(`delivery ${delivered}`);
      const answered = flaw?.delivered?.(delivered) ?? delivered;
      return answered === 'executed' || answered === 'nothing';
    } catch {
      oracle.reach('delivery failed');
      return false;
    }
  }

  #end({ name }: QueueTask): void {
    this.#under.delete(name);
    if (this.#parts.forgetsNames) this.#after(NAME_HELD_MS, () => this.#names.delete(name));
  }
}

function messageOf({ httpRequest }: QueueTask): { readonly runId: string; readonly reason: string } {
  return JSON.parse(httpRequest.body.toString()) as { readonly runId: string; readonly reason: string };
}
