import type { ExecutionRunRequest } from '../../contracts/generated/models.ts';
import { settledEach } from '../../functions/kernel/settled-each.ts';
import type { Options, Report } from './canonical.ts';
import { createExecutionWorld, runExecution } from './execution.ts';
import { ExecutionUser, Maintainer, Meddler, PRODUCTS } from './execution-clients.ts';
import { type ExecutionFaults, NO_EXECUTION_FAULTS } from './execution-faults.ts';
import type { Shape } from './execution-instance.ts';
import { untilAllIsOver } from './execution-keys.ts';
import { START_KEY_FLAWS } from './execution-start-keys-flaws.ts';
import { SimulatedWorker } from './execution-worker.ts';
import { Random } from './random.ts';

const WORKERS = 5;
const RUNS_MAX = 24;
const TURNS = 100_000;
const DEEDS = ['succeed', 'succeed', 'fail', 'poison', 'wait timer', 'wait event'] as const;

function drawShape(random: Random): Shape {
  const local = random.chance(0.7);
  return {
    instances: random.chance(0.5) ? ['A'] : ['A', 'B'],
    local,
    patient: local,
    marks: true,
    activeRunsMax: null,
    counterShards: 1,
    policies: [],
    keyLimit: 1 + random.below(3),
  };
}

function drawFaults(random: Random): ExecutionFaults {
  const rate = (most: number) => (random.chance(0.4) ? 0 : random.next() * most);
  return {
    ...NO_EXECUTION_FAULTS,
    aborted: rate(0.2),
    unavailable: rate(0.03),
    shortPage: rate(0.3),
    workerDies: rate(0.3),
    killed: rate(0.01),
    replyLost: rate(0.05),
    answerLost: rate(0.1),
  };
}

/** Starts runs with keys, and runs that later starts put off, often several at a time. */
class KeyStarter extends ExecutionUser {
  async run(total: number): Promise<void> {
    const { random, runIds } = this.work;
    for (let started = 0; started < total; ) {
      await this.pause(60);
      const burst = Math.min(total - started, 1 + random.below(6));
      const bodies = Array.from({ length: burst }, (_, n) => this.#body(started + n));
      started += burst;
      await settledEach(bodies, burst, async (body) => {
        const outcome = await this.persist('startExecutionRun', { body });
        if (outcome.kind === 'answer' && !runIds.includes(outcome.body.id)) runIds.push(outcome.body.id);
      });
    }
  }

  #body(n: number): ExecutionRunRequest {
    const { random } = this.work;
    const isQuiet = random.chance(0.4);
    return {
      handlerId: 'x-free',
      payload: { deed: random.pick(DEEDS), n, by: this.name },
      concurrencyKey: isQuiet || random.chance(0.8) ? random.pick(['a', 'b']) : null,
      idempotencyKey: random.chance(0.4) ? `${this.name}-${n}` : null,
      scope: random.chance(0.3) ? { productId: random.pick(PRODUCTS), tenantId: 't' } : null,
      ...(isQuiet ? { startAfterQuietSeconds: 5 + random.below(30) } : {}),
    };
  }
}

/** Workers, kills, prunes and cancellations around the keys of starts, until every run has ended. */
export async function simulateStartKeys(seed: number, options: Options = {}): Promise<Report> {
  const draw = new Random(seed);
  const shape = drawShape(draw);
  const faults = drawFaults(draw);
  const { flaw: name, ...rest } = options;
  const flaw = name === undefined ? undefined : START_KEY_FLAWS[name];
  if (name !== undefined && flaw === undefined) throw new Error(`there is no bug named ${name}`);
  const world = createExecutionWorld(seed, { shape, faults, options: rest, flaw });
  const { scheduler, oracle, cluster, work } = world;
  const instances: ReadonlySet<string> = new Set(shape.instances);
  scheduler.beforeStep = (process) => {
    if (instances.has(process.name) && scheduler.random.chance(cluster.faults.killed))
      cluster.crash(process.name);
  };
  const workers = Array.from(
    { length: WORKERS },
    (_, n) => new SimulatedWorker(`w-${n}`, `w${n % 2}`, work, n % 2 === 0),
  );
  const story = async () => {
    const working = workers.map((worker) => worker.run(TURNS));
    await Promise.all([
      new KeyStarter('s0', work).run(4 + draw.below(RUNS_MAX)),
      new KeyStarter('s1', work).run(4 + draw.below(8)),
      new Meddler('m', work).run(6),
      new Maintainer('o', work).run(6),
    ]);
    cluster.stopFaults();
    await untilAllIsOver(new ExecutionUser('end', work), work, true);
    for (const worker of workers) worker.stopped = true;
    await Promise.all(working);
  };
  await runExecution(world, story);
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { seed, steps, traceHash, violation, histories: oracle.versions.size, reached: oracle.reached, log };
}
