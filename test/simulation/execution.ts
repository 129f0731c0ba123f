import type { Options, Report } from './canonical.ts';
import {
  type ExecutionWorkload,
  Maintainer,
  Meddler,
  PRODUCTS,
  Starter,
  Watcher,
} from './execution-clients.ts';
import { type CloudTasks, ExecutionCluster } from './execution-cluster.ts';
import { drawExecutionFaults, type ExecutionFaults } from './execution-faults.ts';
import { ExecutionAudit } from './execution-final.ts';
import { EXECUTION_FLAWS } from './execution-flaws.ts';
import { handlersIn } from './execution-handlers.ts';
import type { Shape } from './execution-instance.ts';
import { ExecutionOracle } from './execution-oracle.ts';
import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { Violation } from './violation.ts';

const STEPS_MAX = 40_000;

/** The common parts of deployments, and their differences: by the seed. */
export function drawShape(random: Random): Shape {
  const restricted = random.chance(0.3);
  const policy = (productId: string, allowedServiceIdentities: readonly string[]) => ({
    productId,
    allowedHandlerIds: [],
    allowedTenantIds: [],
    allowedServiceIdentities,
    payloadBytesMax: null,
    artifactPrefix: '',
    redactedNames: [],
  });
  const local = random.chance(0.7);
  return {
    instances: random.chance(0.5) ? ['A', 'B'] : ['A', 'B', 'C'],
    local,
    patient: local && random.chance(0.5),
    marks: random.chance(0.6),
    activeRunsMax: random.chance(0.8) ? 3 + random.below(6) : null,
    counterShards: random.pick([1, 1, 3]),
    policies: restricted ? [policy(PRODUCTS[0], ['w0']), policy(PRODUCTS[1], ['w1'])] : [],
  };
}

export interface WorldParts {
  readonly shape: Shape;
  readonly faults: ExecutionFaults;
  readonly options?: Options;
  /** A queue that delivers, and a bug that is planted beside it. */
  readonly cloud?: (parts: { readonly scheduler: Scheduler; readonly oracle: ExecutionOracle }) => CloudTasks;
  readonly flaw?: ExecutionFlaw | undefined;
}

/** An execution runtime under simulation with its oracle, before any client has come. */
export function createExecutionWorld(
  seed: number,
  { shape, faults, options = {}, cloud, ...planted }: WorldParts,
) {
  const flaw = options.flaw === undefined ? planted.flaw : EXECUTION_FLAWS[options.flaw];
  if (options.flaw !== undefined && flaw === undefined)
    throw new Error(`there is no bug named ${options.flaw}`);
  const scheduler = new Scheduler(seed, { trace: options.trace === true });
  const oracle = new ExecutionOracle(scheduler, shape);
  const cluster = new ExecutionCluster({
    scheduler,
    oracle,
    shape,
    faults,
    flaw,
    handlersOf: (host) => handlersIn(host, scheduler, faults),
    cloud: cloud?.({ scheduler, oracle }),
  });
  const random = new Random(seed + 0x5eed);
  const work: ExecutionWorkload = { cluster, oracle, random, runIds: [], requests: [] };
  return { scheduler, oracle, cluster, work };
}

export type ExecutionWorld = ReturnType<typeof createExecutionWorld>;

/** One whole run: clients and workers under faults, then honest workers until nothing is left to do, then the audit. */
export async function simulateExecution(seed: number, options: Options = {}): Promise<Report> {
  const draw = new Random(seed);
  const shape = drawShape(draw);
  const faults = drawExecutionFaults(draw);
  const world = createExecutionWorld(seed, { shape, faults, options });
  const { scheduler, oracle, cluster, work } = world;
  const instances: ReadonlySet<string> = new Set(shape.instances);
  scheduler.beforeStep = (process) => {
    if (instances.has(process.name) && scheduler.random.chance(cluster.faults.killed))
      cluster.crash(process.name);
    if (scheduler.random.chance(cluster.faults.clock)) cluster.disturbClocks();
  };
  const story = async () => {
    await Promise.all([
      new Starter('s0', work).run(7),
      new Starter('s1', work).run(6),
      new Meddler('m0', work).run(8),
      new Meddler('m1', work).run(6),
      new Watcher('r0', work).run(6),
      new Maintainer('o0', work).run(5),
      new Maintainer('o1', work).run(4),
      new SimulatedWorker('w0', 'w0', work).run(10),
      new SimulatedWorker('w1', 'w1', work).run(10),
      new SimulatedWorker('w0-too', 'w0', work).run(6),
    ]);
    cluster.stopFaults();
    await new ExecutionAudit('audit', work).run();
  };
  await runExecution(world, story);
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { seed, steps, traceHash, violation, histories: oracle.versions.size, reached: oracle.reached, log };
}

/** Runs `story` to its end; the scheduler's `failure` holds its first failure. */
export async function runExecution(
  { scheduler }: ExecutionWorld,
  story: () => Promise<void>,
  stepsMax = STEPS_MAX,
): Promise<void> {
  let over = false;
  story().then(
    () => {
      over = true;
    },
    (error: unknown) =>
      scheduler.fail(error instanceof Error ? error : new Violation('internal', String(error))),
  );
  const ending = await scheduler.run(() => over, stepsMax);
  if (ending === 'stuck' || ending === 'steps used up') scheduler.fail(new Violation('progress', ending));
}
