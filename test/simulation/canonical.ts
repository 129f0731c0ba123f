import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import { Consumer, Operator, Producer, Reader, type Workload } from './clients.ts';
import { Cluster } from './cluster.ts';
import { COPY_FLAWS } from './copy-flaws.ts';
import { drawFaults, type Faults, NO_FAULTS } from './faults.ts';
import { Auditor, checkHistories } from './final.ts';
import { FLAWS, type Flaw } from './flaws.ts';
import { History } from './history.ts';
import { Keeper } from './keeper.ts';
import { CommitPointOracle } from './oracle.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { Violation } from './violation.ts';

const STEPS_MAX = 20_000;

/** The same names in several tenants: nothing but the tenant keeps them apart. */
const BUSY = 'tenant-a';
const ALSO_BUSY = 'tenant-b';
const QUIET = 'tenant-c';

/** The share of runs whose clients copy their tenants: a restore removes rare states that other runs keep. */
const COPYING = 0.5;

/** Every bug that can be planted, by its name. */
export const ALL_FLAWS: Readonly<Record<string, Flaw>> = { ...FLAWS, ...COPY_FLAWS };

export interface Report {
  readonly seed: number;
  readonly steps: number;
  readonly traceHash: string;
  readonly violation: Error | undefined;
  readonly histories: number;
  readonly reached: ReadonlyMap<string, number>;
  readonly log: readonly string[] | undefined;
}

export interface Options {
  readonly flaw?: string;
  readonly trace?: boolean;
  /** Whether clients copy their tenants; by default the seed says. */
  readonly copying?: boolean;
}

/** A service under simulation with its oracles, before any client has come. */
export function createWorld(seed: number, faults: Faults, options: Options = {}) {
  const flaw = options.flaw === undefined ? undefined : ALL_FLAWS[options.flaw];
  if (options.flaw !== undefined && flaw === undefined)
    throw new Error(`there is no bug named ${options.flaw}`);
  const scheduler = new Scheduler(seed, { trace: options.trace === true });
  const oracle = new CommitPointOracle(scheduler);
  const cluster = new Cluster(scheduler, oracle, faults, flaw);
  cluster.sent = oracle.sent;
  cluster.answered = oracle.answered;
  // The clients draw from a sequence of their own, so that their requests do not depend on the order of execution.
  const random = new Random(seed + 0x5eed);
  const work = (tenantId: string): Workload => ({
    cluster,
    history: new History(),
    random,
    tenantId,
    requests: [],
  });
  return { scheduler, oracle, cluster, work };
}

export type SimulatedWorld = ReturnType<typeof createWorld>;

/** One whole run: clients of three tenants under faults, then the audit. */
export async function simulate(seed: number, options: Options = {}): Promise<Report> {
  const drawn = drawFaults(new Random(seed));
  // Drawn apart, with a number that leaves the seeds of `seeds.ts` what they were.
  const copying = options.copying ?? new Random(seed + 9_000).chance(COPYING);
  const world = createWorld(seed, { ...NO_FAULTS }, options);
  const { scheduler, oracle, cluster, work } = world;
  const [busy, also, quiet] = [work(BUSY), work(ALSO_BUSY), work(QUIET)];
  let histories = 0;
  const story = async () => {
    await new Producer('q', quiet).run(3);
    const untouched = contentHash(world, QUIET);
    Object.assign(cluster.faults, drawn);
    scheduler.beforeStep = (process) => {
      const mortal = process.name === 'A' || process.name === 'B';
      if (mortal && scheduler.random.chance(cluster.faults.killed)) cluster.crash(process.name);
    };
    const keepers = copying
      ? [
          new Keeper('k0', busy).run(3, [ALSO_BUSY]),
          new Keeper('k1', busy).run(2, [ALSO_BUSY, QUIET]),
          new Keeper('k0', also).run(1, [BUSY]),
        ]
      : [];
    await Promise.all([
      ...actors(busy),
      new Producer('p0', also).run(3),
      new Consumer('c0', also).run(2),
      ...keepers,
    ]);
    cluster.stopFaults();
    // Check the histories before the audit: otherwise the audit would be the first to report a lasting fault.
    for (const each of [busy, also]) histories += checkHistories(each);
    await Promise.all([busy, also].map((each) => new Auditor(each, oracle).run()));
    if (contentHash(world, QUIET) !== untouched) throw new Violation('I11 tenant', `${QUIET} has changed`);
  };
  await runToEnd(scheduler, story);
  const { steps, traceHash, failure: violation, log } = scheduler;
  return { seed, steps, traceHash, violation, histories, reached: oracle.reached, log };
}

function actors(work: Workload): Promise<void>[] {
  return [
    new Producer('p0', work).run(4),
    new Producer('p1', work).run(4),
    new Producer('p2', work).run(3),
    new Consumer('c0', work).run(6),
    new Consumer('c1', work).run(6),
    new Operator('o0', work).run(6),
    new Reader('r0', work).run(5),
  ];
}

/** Runs `story` to its end; the scheduler's `failure` holds its first failure. */
export async function runToEnd(scheduler: Scheduler, story: () => Promise<void>): Promise<void> {
  let over = false;
  story().then(
    () => {
      over = true;
    },
    (error: unknown) =>
      scheduler.fail(error instanceof Error ? error : new Violation('internal', String(error))),
  );
  const ending = await scheduler.run(() => over, STEPS_MAX);
  if (ending === 'stuck' || ending === 'steps used up') scheduler.fail(new Violation('progress', ending));
}

/** A hash over everything that the tenant has. */
function contentHash({ cluster }: SimulatedWorld, name: string): string {
  const records = cluster.database.all({ kind: 'tenants', name }).map(({ record }) => canonicalJson(record));
  return sha256(records.sort().join('\n'));
}
