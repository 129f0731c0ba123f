import type { Options, Report } from './canonical.ts';
import { createExecutionWorld, drawShape, type ExecutionWorld, runExecution } from './execution.ts';
import { Maintainer, Meddler, Starter, Watcher } from './execution-clients.ts';
import { CloudAudit, DeliveredWorker, FarStarter, SimulatedCron } from './execution-cloud-actors.ts';
import { CLOUD_FLAWS } from './execution-cloud-flaws.ts';
import { type CloudFaults, SimulatedTasks } from './execution-cloud-tasks.ts';
import { drawExecutionFaults } from './execution-faults.ts';
import { ExecutionAudit } from './execution-final.ts';
import type { Shape } from './execution-instance.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { Random } from './random.ts';

const STEPS_MAX = 120_000;

/** A deployment whose queue is in the cloud. */
interface CloudShape extends Shape {
  /** No message is lost and no reconcile runs: messages alone must bring every run to its end. */
  readonly byMessagesAlone: boolean;
  readonly forgetsNames: boolean;
}

function drawCloudShape(random: Random): CloudShape {
  const shape = drawShape(random);
  const byMessagesAlone = random.chance(0.4);
  return {
    ...shape,
    local: true,
    outside: 0.4,
    patient: false,
    byMessagesAlone,
    forgetsNames: random.chance(0.5),
    // A message for one worker that reaches another is lost, where the one may not have what the other may.
    policies: byMessagesAlone ? [] : shape.policies,
  };
}

const THIRD = 1 / 3;

/** A failure between a write and its message loses the message, and only a look into the store finds such a run; these settings exclude it. */
const LOSES_NOTHING = { unavailable: 0, replyLost: 0, killed: 0, clock: 0, queueRefuses: 0, messageLost: 0 };

function drawCloudFaults(random: Random, { byMessagesAlone }: CloudShape): CloudFaults {
  const faults = {
    ...drawExecutionFaults(random),
    messageLost: THIRD,
    messageTwice: THIRD,
    messageLate: THIRD,
  };
  return byMessagesAlone ? { ...faults, ...LOSES_NOTHING } : faults;
}

/** One whole run as `simulateExecution`, with a queue that delivers. */
export async function simulateExecutionCloud(seed: number, options: Options = {}): Promise<Report> {
  const flaw = options.flaw === undefined ? undefined : CLOUD_FLAWS[options.flaw];
  if (options.flaw !== undefined && flaw === undefined)
    throw new Error(`there is no bug named ${options.flaw}`);
  const draw = new Random(seed);
  const shape = drawCloudShape(draw);
  const faults = drawCloudFaults(draw, shape);
  const { trace = false } = options;
  let tasks: SimulatedTasks | undefined;
  const outside = (runId: string) =>
    void world.cluster.messages.push({ runId, handlerId: '', reason: 'run_ready', notBefore: 0, attempt: 0 });
  const world: ExecutionWorld = createExecutionWorld(seed, {
    shape,
    faults,
    options: { trace },
    flaw,
    cloud: (parts) =>
      (tasks = new SimulatedTasks({ ...parts, outside, faults, forgetsNames: shape.forgetsNames, flaw })),
  });
  const { scheduler, oracle, cluster, work } = world;
  if (tasks === undefined) throw new Error('the cluster has no queue');
  const queue = tasks;
  const instances: ReadonlySet<string> = new Set(shape.instances);
  scheduler.beforeStep = (process) => {
    if (instances.has(process.name) && scheduler.random.chance(faults.killed)) cluster.crash(process.name);
    if (scheduler.random.chance(faults.clock)) cluster.disturbClocks();
  };
  const story = async () => {
    const cron = new SimulatedCron('cron', work, queue);
    const workers = ['w0', 'w1'].map((id) => new DeliveredWorker(`${id}-delivered`, id, work, queue));
    const delivered = workers.map((worker) => worker.run(Number.POSITIVE_INFINITY));
    const unguarded = shape.byMessagesAlone
      ? []
      : [
          new Maintainer('o0', work).run(4),
          new SimulatedWorker('w0', 'w0', work).run(8),
          new SimulatedWorker('w1', 'w1', work).run(8),
          cron.run(6),
        ];
    await Promise.all([
      new Starter('s0', work).run(7),
      new Starter('s1', work).run(6),
      new FarStarter('far', work).run(2),
      new Meddler('m0', work).run(8),
      new Meddler('m1', work).run(6),
      new Watcher('r0', work).run(6),
      ...unguarded,
    ]);
    cluster.stopFaults();
    faults.messageLate = 0;
    await new CloudAudit('cloud audit', work).run(queue, shape.byMessagesAlone ? null : cron);
    for (const worker of workers) worker.stopped = true;
    queue.wake();
    await Promise.all(delivered);
    await new ExecutionAudit('audit', work).run();
  };
  await runExecution(world, story, STEPS_MAX);
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { seed, steps, traceHash, violation, histories: oracle.versions.size, reached: oracle.reached, log };
}
