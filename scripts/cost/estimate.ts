import { type Line, linesOf, monthSeconds, type Workload } from './workload.ts';

interface RegionPrices {
  readonly firestore: {
    readonly readsPerMillion: number;
    readonly writesPerMillion: number;
    readonly deletesPerMillion: number;
    readonly storagePerGiB: number;
  };
  readonly objectsPerGiB: number;
}

export interface Prices {
  readonly asOf: string;
  readonly source: string;
  readonly regions: Readonly<Record<string, RegionPrices>>;
  readonly tasksPerMillion: number;
  readonly functions: {
    readonly requestsPerMillion: number;
    readonly perVcpuSecond: number;
    readonly perGiBSecond: number;
    /** The time of an instance is billed in steps of this length. */
    readonly billedStepMs: number;
  };
  readonly schedulerPerJob: number;
  readonly logsPerGiB: number;
  readonly loadBalancerPerMonth: number;
  readonly free: {
    readonly readsPerDay: number;
    readonly writesPerDay: number;
    readonly deletesPerDay: number;
    readonly storageGiB: number;
    readonly tasks: number;
    readonly requests: number;
    readonly vcpuSeconds: number;
    readonly gibSeconds: number;
    readonly schedulerJobs: number;
    readonly logsGiB: number;
  };
}

/** The functions: assumptions, since only the cloud can measure them. */
export interface Machine {
  readonly roundTripMs: number;
  readonly requestMs: number;
  /** Requests that share an instance at a time, on average. */
  readonly concurrency: number;
  readonly vcpu: number;
  readonly memoryGiB: number;
  readonly logBytesPerRequest: number;
}

export interface EstimatedLine {
  readonly name: string;
  readonly count: number;
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  readonly tasks: number;
  readonly requests: number;
  readonly seconds: number;
  /** At list prices, before the free tier. */
  readonly dollars: number;
  readonly dollarsPerMillion: number;
}

export interface Product {
  readonly name: string;
  readonly amount: number;
  readonly unit: string;
  readonly free: number;
  readonly dollars: number;
}

export interface Estimate {
  readonly lines: readonly EstimatedLine[];
  readonly products: readonly Product[];
  readonly dollars: number;
}

const million = 1_000_000;
const scheduledJobs = 2;

/** Pure: what a month of the workload costs. */
export function estimate(
  load: Workload,
  machine: Machine,
  prices: Prices,
  region: string,
  isFree: boolean,
): Estimate {
  const local = prices.regions[region];
  if (local === undefined) throw new RangeError(`There are no prices for the region ${region}.`);
  const lines = linesOf(load).map((line) => estimated(line, machine, prices, local));
  const products = productsOf(lines, load, machine, prices, local, isFree);
  return { lines, products, dollars: total(products, ({ dollars }) => dollars) };
}

function estimated(line: Line, machine: Machine, prices: Prices, local: RegionPrices): EstimatedLine {
  const { name, count, each } = line;
  const used = {
    reads: count * each.reads,
    writes: count * each.writes,
    deletes: count * each.deletes,
    tasks: count * each.tasks,
    requests: count * each.requests,
    seconds: count * secondsOfEach(line, machine, prices),
  };
  const { firestore } = local;
  const { functions } = prices;
  const dollars =
    (used.reads * firestore.readsPerMillion +
      used.writes * firestore.writesPerMillion +
      used.deletes * firestore.deletesPerMillion +
      used.tasks * prices.tasksPerMillion +
      used.requests * functions.requestsPerMillion) /
      million +
    used.seconds * secondPrice(machine, prices);
  return { name, count, ...used, dollars, dollarsPerMillion: (dollars / count) * million };
}

/** Instance time of one operation, after the billed step and the sharing of the instance. */
function secondsOfEach({ each, extraSeconds = 0 }: Line, machine: Machine, prices: Prices): number {
  const ms = each.calls * machine.roundTripMs + each.requests * machine.requestMs + extraSeconds * 1_000;
  const requests = each.requests;
  if (requests === 0) return ms / 1_000 / machine.concurrency;
  const { billedStepMs } = prices.functions;
  const billed = Math.ceil(ms / requests / billedStepMs) * billedStepMs * requests;
  return billed / 1_000 / machine.concurrency;
}

function secondPrice({ vcpu, memoryGiB }: Machine, { functions }: Prices): number {
  return vcpu * functions.perVcpuSecond + memoryGiB * functions.perGiBSecond;
}

function productsOf(
  lines: readonly EstimatedLine[],
  load: Workload,
  machine: Machine,
  prices: Prices,
  { firestore, objectsPerGiB }: RegionPrices,
  isFree: boolean,
): Product[] {
  const { functions, free } = prices;
  const days = monthSeconds / 86_400;
  const product = (name: string, amount: number, unit: string, each: number, freeAmount = 0): Product => {
    const left = isFree ? freeAmount : 0;
    return { name, amount, unit, free: left, dollars: Math.max(0, amount - left) * each };
  };
  const of = (member: 'reads' | 'writes' | 'deletes' | 'tasks' | 'requests' | 'seconds') =>
    total(lines, (line) => line[member]);
  const logsGiB = (of('requests') * machine.logBytesPerRequest) / 2 ** 30;
  const jobs = load.runs > 0 ? scheduledJobs : 0;
  return [
    product(
      'Firestore reads',
      of('reads'),
      'documents',
      firestore.readsPerMillion / million,
      free.readsPerDay * days,
    ),
    product(
      'Firestore writes',
      of('writes'),
      'documents',
      firestore.writesPerMillion / million,
      free.writesPerDay * days,
    ),
    product(
      'Firestore deletes',
      of('deletes'),
      'documents',
      firestore.deletesPerMillion / million,
      free.deletesPerDay * days,
    ),
    product('Firestore storage', load.storageGiB, 'GiB', firestore.storagePerGiB, free.storageGiB),
    product('Cloud Tasks', of('tasks'), 'operations', prices.tasksPerMillion / million, free.tasks),
    product(
      'function requests',
      of('requests'),
      'requests',
      functions.requestsPerMillion / million,
      free.requests,
    ),
    product(
      'function processors',
      of('seconds') * machine.vcpu,
      'vCPU-seconds',
      functions.perVcpuSecond,
      free.vcpuSeconds,
    ),
    product(
      'function memory',
      of('seconds') * machine.memoryGiB,
      'GiB-seconds',
      functions.perGiBSecond,
      free.gibSeconds,
    ),
    product('Cloud Storage', load.objectsGiB, 'GiB', objectsPerGiB),
    product('log lines', logsGiB, 'GiB', prices.logsPerGiB, free.logsGiB),
    product('Cloud Scheduler', jobs, 'jobs', prices.schedulerPerJob, free.schedulerJobs),
    product('load balancer', 1, 'rule', prices.loadBalancerPerMonth),
  ];
}

function total<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}
