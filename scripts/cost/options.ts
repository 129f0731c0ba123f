import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Machine, Prices } from './estimate.ts';
import type { Workload } from './workload.ts';

interface NumberOption {
  readonly default: number;
  readonly text: string;
}

/** Options that take a number, by their names on the command line. */
const numbers = {
  commits: { default: 1_000_000, text: 'commits a month' },
  documents: { default: 1, text: 'documents that a commit changes' },
  events: { default: 1, text: 'outbox events of a commit, each delivered once' },
  fences: { default: 0, text: 'fences that a commit claims' },
  reads: { default: 1_000_000, text: 'document reads a month' },
  queries: { default: 0, text: 'queries a month' },
  'query-documents': { default: 20, text: 'documents that a query returns' },
  runs: { default: 1_000_000, text: 'runs a month, each with an idempotency key' },
  retries: { default: 0, text: 'retries of a run, on average: 0.1 is one in ten' },
  checkpoints: { default: 0, text: 'steps of a run that it records as a checkpoint' },
  'trace-events': { default: 0, text: 'trace events that a run records' },
  artifacts: { default: 0, text: 'inline artifacts of a run' },
  timers: { default: 0, text: 'timers that a run waits for' },
  waits: { default: 0, text: 'external events that a run waits for' },
  heartbeats: { default: 0, text: 'heartbeats of a run' },
  'run-seconds': { default: 0.1, text: 'time in the handler of a run of the hosted worker' },
  'waiting-callers': { default: 0, text: 'workers and dispatchers that always wait in a lease call' },
  'storage-gib': { default: 10, text: 'data in Firestore, with its indexes' },
  'objects-gib': { default: 0, text: 'artifacts in Cloud Storage' },
  'round-trip-ms': { default: 15, text: 'time of one call of Firestore (assumption)' },
  'request-ms': { default: 5, text: 'other time of a request (assumption)' },
  concurrency: {
    default: 1,
    text: 'requests that share an instance, on average; 1 is the upper bound of the price',
  },
  vcpu: { default: 1, text: 'processors of an instance' },
  'memory-gib': { default: 1, text: 'memory of an instance' },
  'log-bytes': { default: 600, text: 'log of one request' },
} as const satisfies Readonly<Record<string, NumberOption>>;

type NumberName = keyof typeof numbers;

export interface Input {
  readonly load: Workload;
  readonly machine: Machine;
  readonly region: string;
  readonly prices: Prices;
  readonly isFree: boolean;
  readonly output: 'table' | 'json' | 'prices' | 'help';
}

/** A command line that cannot be understood; the text is for its writer. */
export class OptionFault extends Error {
  override readonly name = 'OptionFault';
}

const workers = ['hosted', 'external'] as const;

export function readOptions(args: readonly string[], ownPrices: Prices): Input {
  const values = parsed(args);
  const prices = typeof values['prices'] === 'string' ? pricesOf(values['prices']) : ownPrices;
  const region = String(values['region'] ?? 'us-central1');
  const known = Object.keys(prices.regions);
  if (!known.includes(region)) {
    throw new OptionFault(
      `--region ${region}: the prices have ${known.join(', ')}; --prices FILE adds others`,
    );
  }
  const worker = workers.find((name) => name === (values['worker'] ?? 'hosted'));
  if (worker === undefined) throw new OptionFault(`--worker must be one of ${workers.join(', ')}`);
  const of = (name: NumberName) => numberOf(name, values[name]);
  if (of('concurrency') < 1) throw new OptionFault('--concurrency must be 1 or more');
  return {
    load: {
      commits: of('commits'),
      documentsPerCommit: of('documents'),
      eventsPerCommit: of('events'),
      fencesPerCommit: of('fences'),
      reads: of('reads'),
      queries: of('queries'),
      documentsPerQuery: of('query-documents'),
      runs: of('runs'),
      worker,
      retriesPerRun: of('retries'),
      checkpointsPerRun: of('checkpoints'),
      traceEventsPerRun: of('trace-events'),
      artifactsPerRun: of('artifacts'),
      timersPerRun: of('timers'),
      waitsPerRun: of('waits'),
      heartbeatsPerRun: of('heartbeats'),
      runSeconds: of('run-seconds'),
      waitingCallers: of('waiting-callers'),
      storageGiB: of('storage-gib'),
      objectsGiB: of('objects-gib'),
    },
    machine: {
      roundTripMs: of('round-trip-ms'),
      requestMs: of('request-ms'),
      concurrency: of('concurrency'),
      vcpu: of('vcpu'),
      memoryGiB: of('memory-gib'),
      logBytesPerRequest: of('log-bytes'),
    },
    region,
    prices,
    isFree: values['no-free-tier'] !== true,
    output: outputOf(values),
  };
}

function parsed(args: readonly string[]): Readonly<Record<string, string | boolean | undefined>> {
  const texts = [...Object.keys(numbers), 'region', 'prices', 'worker'];
  const flags = ['no-free-tier', 'json', 'show-prices', 'help'];
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' }] as const),
    ...flags.map((name) => [name, { type: 'boolean' }] as const),
  ]);
  try {
    return parseArgs({ args: [...args], options }).values as Record<string, string | boolean>;
  } catch (error) {
    throw new OptionFault(error instanceof Error ? error.message : 'the command line is not valid');
  }
}

function numberOf(name: NumberName, value: string | boolean | undefined): number {
  if (value === undefined) return numbers[name].default;
  const text = String(value).replaceAll('_', '').replaceAll(',', '');
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(number) || number < 0) {
    throw new OptionFault(`--${name} ${String(value)}: must be a number of 0 or more`);
  }
  return number;
}

function pricesOf(file: string): Prices {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Prices;
  } catch (error) {
    throw new OptionFault(`--prices ${file}: ${error instanceof Error ? error.message : 'cannot be read'}`);
  }
}

function outputOf(values: Readonly<Record<string, unknown>>): Input['output'] {
  if (values['help'] === true) return 'help';
  if (values['show-prices'] === true) return 'prices';
  return values['json'] === true ? 'json' : 'table';
}

export function helpText(prices: Prices): string {
  const rows = Object.entries(numbers).map(([name, option]) => [
    `--${name} N`,
    `${option.text} [${option.default.toLocaleString('en')}]`,
  ]);
  const others = [
    [
      '--worker KIND',
      'hosted: the function worker runs the handlers; external: the queue calls your worker [hosted]',
    ],
    ['--region NAME', `${Object.keys(prices.regions).join(', ')} [us-central1]`],
    ['--prices FILE', 'prices of your own, in the form of --show-prices'],
    ['--no-free-tier', 'counts nothing as free'],
    ['--json', 'prints the estimate for programs'],
    ['--show-prices', 'prints the prices in use as JSON, and ends'],
    ['--help', 'shows this'],
  ];
  return [
    'npm run -s cost -- [options]',
    '',
    'Estimates what a month on Google Cloud costs. The documents, tasks and requests of each operation are measured;',
    'times of the functions are assumptions that you can change.',
    '',
    ...[...rows, ...others].map(([left = '', right = '']) => `  ${left.padEnd(20)} ${right}`),
    '',
    `Prices: ${prices.source}, as of ${prices.asOf}. Check them before you decide.`,
  ].join('\n');
}
