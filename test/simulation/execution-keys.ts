import { settledEach } from '../../functions/kernel/settled-each.ts';
import type { Options, Report } from './canonical.ts';
import { createExecutionWorld, runExecution } from './execution.ts';
import { ExecutionUser, type ExecutionWorkload, Maintainer, Meddler, PRODUCTS } from './execution-clients.ts';
import { type ExecutionFaults, NO_EXECUTION_FAULTS } from './execution-faults.ts';
import type { Shape } from './execution-instance.ts';
import { KeyWatch } from './execution-key-watch.ts';
import { KEY_FLAWS } from './execution-keys-flaws.ts';
import { isOver } from './execution-transitions.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { Random } from './random.ts';
import { must } from './violation.ts';

/** Handlers that share one concurrency key, and one that has none. */
const KEYED = ['x-key', 'x-too'] as const;
const WORKERS = 6;
const RUNS_MAX = 24;
const HOUR_MS = 3_600_000;

/** Deeds of the runs: most are short, so that the key changes hands often. */
const DEEDS = ['succeed', 'succeed', 'succeed', 'fail', 'poison', 'wait timer', 'wait event'] as const;

interface KeysShape extends Shape {
  /** Instances hear of nothing but their own messages, as within seconds of a change. */
  readonly alone: boolean;
  /** Whether all workers ask one instance for runs. Their other calls go to any. */
  readonly staysHome: boolean;
}

function drawKeysShape(random: Random): KeysShape {
  const alone = random.chance(0.5);
  const restricted = random.chance(0.4);
  const policy = (productId: string, worker: string) => ({
    productId,
    allowedHandlerIds: [],
    allowedTenantIds: [],
    allowedServiceIdentities: [worker],
    payloadBytesMax: null,
    artifactPrefix: '',
    redactedNames: [],
  });
  return {
    alone,
    staysHome: random.chance(0.7),
    instances: alone ? ['A'] : ['A', 'B'],
    local: true,
    patient: true,
    marks: true,
    marksEarly: !alone,
    recheckMs: alone ? HOUR_MS : 2_000,
    activeRunsMax: null,
    counterShards: 1,
    policies: restricted ? [policy(PRODUCTS[0], 'w0'), policy(PRODUCTS[1], 'w1')] : [],
  };
}

/** Losses that the instance itself sees. Beside a recheck also those that it does not see. */
function drawKeysFaults(random: Random, { alone }: KeysShape): ExecutionFaults {
  const rate = (most: number) => (random.chance(0.4) ? 0 : random.next() * most);
  const faults = {
    ...NO_EXECUTION_FAULTS,
    aborted: rate(0.3),
    unavailable: rate(0.03),
    shortPage: rate(0.3),
    workerDies: rate(0.3),
    killed: rate(0.01),
  };
  return alone ? faults : { ...faults, replyLost: rate(0.05), answerLost: rate(0.1), impatient: rate(0.1) };
}

/** Starts runs of the handlers with a key, often several at a time. */
class KeyedStarter extends ExecutionUser {
  async run(total: number): Promise<void> {
    const { random, cluster, runIds } = this.work;
    const scoped = cluster.shape.policies.length > 0;
    for (let started = 0; started < total; ) {
      await this.pause(80);
      const burst = Math.min(total - started, 1 + random.below(8));
      const bodies = Array.from({ length: burst }, (_, n) => ({
        handlerId: random.chance(0.9) ? random.pick(KEYED) : 'x-free',
        payload: { deed: random.pick(DEEDS), n },
        scope: scoped ? { productId: random.pick(PRODUCTS), tenantId: 't' } : null,
      }));
      started += burst;
      await settledEach(bodies, burst, async (body) => {
        const outcome = await this.send('startExecutionRun', { body });
        if (outcome.kind === 'answer') runIds.push(outcome.body.id);
      });
    }
  }
}

/** A worker that waits for a run as long as it may, asks again at once, and is replaced when it dies. */
class PollingWorker extends SimulatedWorker {
  readonly #watch: KeyWatch;
  /** Whether it always asks the same instance, which then must notice what happens at the other. */
  readonly #staysHome: boolean;

  constructor(name: string, workerId: string, work: ExecutionWorkload, watch: KeyWatch) {
    super(name, workerId, work, true);
    this.#watch = watch;
    this.#staysHome = (work.cluster.shape as KeysShape).staysHome;
  }

  override async run(): Promise<void> {
    const { random, cluster } = this.work;
    const [home] = cluster.shape.instances;
    while (!this.stopped) {
      const ttlSeconds = 2 + random.below(6);
      const body = {
        workerId: this.workerId,
        handlerIds: random.chance(0.5) ? [...KEYED, 'x-free'] : [...KEYED],
        ttlSeconds,
        waitSeconds: 20,
      };
      const outcome = await this.#watch.polling(this.workerId, () =>
        this.send('leaseExternalExecutionRun', { body }, this.#staysHome ? home : undefined),
      );
      if (outcome.kind === 'answer' && outcome.body !== null) await this.execute(outcome.body);
      else if (outcome.kind !== 'answer') await this.pause(10);
    }
  }
}

/** Workers, kills, prunes and cancellations around one concurrency key, watched until every run has ended. */
export async function simulateConcurrencyKeys(seed: number, options: Options = {}): Promise<Report> {
  const draw = new Random(seed);
  const shape = drawKeysShape(draw);
  const faults = drawKeysFaults(draw, shape);
  const { flaw: name, ...rest } = options;
  const flaw = name === undefined ? undefined : KEY_FLAWS[name];
  if (name !== undefined && flaw === undefined) throw new Error(`there is no bug named ${name}`);
  const world = createExecutionWorld(seed, { shape, faults, options: rest, flaw });
  const { scheduler, oracle, cluster, work } = world;
  const instances: ReadonlySet<string> = new Set(shape.instances);
  scheduler.beforeStep = (process) => {
    if (instances.has(process.name) && scheduler.random.chance(faults.killed)) cluster.crash(process.name);
  };
  const watch = new KeyWatch('watch', work);
  const workers = Array.from(
    { length: WORKERS },
    (_, n) => new PollingWorker(`w-${n}`, `w${n % 2}`, work, watch),
  );
  const story = async () => {
    const watching = watch.run();
    const working = workers.map((worker) => worker.run());
    await Promise.all([
      new KeyedStarter('s', work).run(6 + draw.below(RUNS_MAX)),
      new Meddler('m', work).run(6),
      new Maintainer('o0', work).run(6),
      new Maintainer('o1', work).run(4),
    ]);
    cluster.stopFaults();
    await untilAllIsOver(watch, work);
    watch.stopped = true;
    for (const worker of workers) worker.stopped = true;
    await Promise.all([watching, ...working]);
  };
  await runExecution(world, story);
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { seed, steps, traceHash, violation, histories: oracle.versions.size, reached: oracle.reached, log };
}

const LOOKS_MAX = 900;

/** Raises the events that runs wait for, and reconciles each minute, until every run has ended. */
export async function untilAllIsOver(
  user: ExecutionUser,
  { cluster, oracle }: ExecutionWorkload,
  reconciles = false,
): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const left = oracle.runs.filter((run) => !isOver(run));
    if (left.length === 0) return;
    const names = left.map((run) => `${run.id} of ${run.handlerId} is ${run.status}`).join(', ');
    must(looks < LOOKS_MAX, 'progress', `after ${LOOKS_MAX} s without a fault ${names}`);
    for (const { id, wait } of left) {
      if (wait?.kind !== 'external_event') continue;
      await user.send('raiseExecutionEvent', {
        params: { runId: id },
        body: { name: wait.name, payload: null },
      });
    }
    if (reconciles && looks % 60 === 59)
      await user.send('reconcileExecutionRuntimeDispatch', { body: { dryRun: false } });
    await cluster.scheduler.sleep(user, 1_000, 'look');
  }
}
