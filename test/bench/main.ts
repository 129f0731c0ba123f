/**
 * The benchmarks: one JSON line each, ratios beside the bare limit of the same run.
 *
 *     npm run bench -- [--only canonical-http,providers,growth,lists,selectivity,copies,copies-http,cold-start,sdk,strict-json,timing,execution,execution-peers,
 *         execution-waits,execution-start,execution-recovery,execution-growth,execution-idle,execution-cloud,
 *         execution-wake,steps,request-floor,neighbours,neighbour-jobs,neighbour-exports,neighbour-answers,neighbour-waits,hostile-http,overload,records,records-import-memory,objects-memory,nearest,search,graph,rag,retrieval,mcp,mcp-tokens,mixed] [--seconds 3] [--rounds 3]
 *         [--check [--accept]] [--providers sqlite,postgresql,mysql,firestore] [--megabytes 100] [--vectors 100000] [--queries 200] [--parts sqlite,http] [--quick] [--before <checkout>]
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchOptions, benchCanonicalHttp } from './canonical-http.ts';
import {
  acceptRatios,
  BEYOND_MOST,
  type CheckedRatio,
  checkRatios,
  describeRatio,
  readStored,
} from './check-ratios.ts';
import { benchColdStart } from './cold-start.ts';
import { benchCopies } from './copies.ts';
import { benchCopiesHttp } from './copies-http.ts';
import { benchExecution } from './execution.ts';
import { benchExecutionCloud } from './execution-cloud.ts';
import { benchExecutionGrowth } from './execution-growth.ts';
import { benchExecutionIdle } from './execution-idle.ts';
import { benchExecutionPeers } from './execution-peers.ts';
import { benchExecutionRecovery } from './execution-recovery.ts';
import { benchExecutionStart } from './execution-start.ts';
import { benchExecutionWaits } from './execution-waits.ts';
import { benchExecutionWake } from './execution-wake.ts';
import { benchGraph } from './graph.ts';
import { benchGrowth } from './growth.ts';
import { benchHostileHttp } from './hostile-http.ts';
import { benchLists } from './lists.ts';
import { benchMcp } from './mcp.ts';
import { benchMcpTokens } from './mcp-tokens.ts';
import { benchMixed } from './mixed.ts';
import { benchNearest } from './nearest.ts';
import { neighbourJobs } from './neighbour-jobs.ts';
import { neighbourAnswers, neighbourExports, neighbourWaits } from './neighbour-kinds.ts';
import { benchNeighbour } from './neighbour-server.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchObjectsMemory } from './objects-memory.ts';
import { benchOverload } from './overload.ts';
import { benchProviders } from './providers.ts';
import { benchRag } from './rag.ts';
import { benchRecords } from './records.ts';
import { benchRecordsImportMemory } from './records-import-memory.ts';
import { benchRequestFloor, FLOOR_ROUNDS } from './request-floor.ts';
import { benchRetrieval } from './retrieval.ts';
import { benchSdk } from './sdk.ts';
import { benchSearch, SEARCH_PARTS } from './search.ts';
import { benchSelectivity } from './selectivity.ts';
import { benchSteps } from './steps.ts';
import { benchStrictJson } from './strict-json.ts';
import { benchTiming } from './timing.ts';

/** Sizes of searches that show whether the benchmark works, and nothing else. */
const QUICK = { vectors: 1000, queries: 5 };

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<object>>> = {
  'canonical-http': benchCanonicalHttp,
  providers: benchProviders,
  growth: benchGrowth,
  lists: benchLists,
  selectivity: benchSelectivity,
  copies: benchCopies,
  'copies-http': benchCopiesHttp,
  'cold-start': benchColdStart,
  sdk: benchSdk,
  'strict-json': benchStrictJson,
  timing: benchTiming,
  execution: benchExecution,
  'execution-peers': benchExecutionPeers,
  'execution-waits': benchExecutionWaits,
  'execution-start': benchExecutionStart,
  'execution-recovery': benchExecutionRecovery,
  'execution-growth': benchExecutionGrowth,
  'execution-idle': benchExecutionIdle,
  'execution-cloud': benchExecutionCloud,
  'execution-wake': benchExecutionWake,
  steps: benchSteps,
  'request-floor': (options) => benchRequestFloor(options, values.before),
  neighbours: benchNeighbours,
  ...Object.fromEntries(
    [neighbourJobs, neighbourExports, neighbourAnswers, neighbourWaits].map((kind) => [
      kind.bench,
      (options: BenchOptions) => benchNeighbour(kind, options),
    ]),
  ),
  'hostile-http': () => benchHostileHttp(),
  overload: (options) => benchOverload(options, values.quick),
  records: benchRecords,
  nearest: (options) => benchNearest({ ...options, vectors: Number(values.vectors) }),
  search: () =>
    benchSearch({
      vectors: values.quick ? QUICK.vectors : Number(values.vectors),
      queries: values.quick ? QUICK.queries : Number(values.queries),
      parts: values.parts.split(','),
    }),
  'records-import-memory': () => benchRecordsImportMemory(),
  graph: () => benchGraph(values.quick),
  rag: (options) => benchRag(options, values.quick),
  mcp: (options) => benchMcp(options, values.before),
  'mcp-tokens': () => benchMcpTokens(values.before),
  mixed: benchMixed,
  retrieval: () =>
    benchRetrieval(
      values.quick ? QUICK.vectors : Number(values.vectors),
      values.quick ? QUICK.queries : Number(values.queries),
    ),
  'objects-memory': () => benchObjectsMemory(values.quick ? 4 : 64),
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    providers: { type: 'string', default: 'sqlite,postgresql,mysql,firestore' },
    megabytes: { type: 'string', default: '100' },
    vectors: { type: 'string', default: '100000' },
    queries: { type: 'string', default: '200' },
    parts: { type: 'string', default: SEARCH_PARTS.join(',') },
    quick: { type: 'boolean', default: false },
    before: { type: 'string' },
    check: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(
    `usage: npm run bench -- [--only ${Object.keys(benches).join(',')}] [--seconds 3] [--rounds 3, request-floor 5] [--providers ${values.providers}] [--megabytes 100,500] [--vectors 100000] [--queries 200] [--parts ${values.parts}] [--quick] [--before <checkout>] [--check [--accept]]\n\n--check runs the benchmarks of test/bench/stored-ratios.json, five rounds of a second, and exits with 1 where a ratio is more than ${BEYOND_MOST} times as bad as the stored one; --accept stores what was measured instead.`,
  );
  process.exit(0);
}
const only = values.only ?? Object.keys(benches).join(',');
const options = {
  seconds: Number(values.seconds ?? (values.check ? '1' : '3')),
  rounds: Number(values.rounds ?? '3'),
  providers: values.providers.split(','),
  megabytes: values.megabytes.split(',').map(Number),
};
if (values.accept && !values.check) {
  console.error('--accept goes with --check');
  process.exit(2);
}
if (!options.megabytes.every((size) => size > 0)) {
  console.error('--megabytes must be positive numbers');
  process.exit(2);
}
if (!(Number(values.vectors) >= 1000)) {
  console.error('--vectors must be a number from 1000');
  process.exit(2);
}
if (!values.parts.split(',').every((part) => SEARCH_PARTS.includes(part))) {
  console.error(`--parts must be of ${SEARCH_PARTS.join(', ')}`);
  process.exit(2);
}
if (!(options.seconds > 0) || !Number.isInteger(options.rounds) || options.rounds < 1) {
  console.error('--seconds must be positive and --rounds a whole number from 1');
  process.exit(2);
}
const machine = { node: process.version, cores: cpus().length, model: cpus()[0]?.model ?? 'unknown' };
const stored = values.check ? readStored() : [];
const names = values.check && !values.only ? [...new Set(stored.map(({ bench }) => bench))] : only.split(',');
const verdicts: CheckedRatio[] = [];
for (const name of names) {
  const bench = benches[name];
  if (bench === undefined) {
    console.error(`there is no benchmark ${name}; there are: ${Object.keys(benches).join(', ')}`);
    process.exit(2);
  }
  const { seconds } = options;
  const usual = values.check || name === 'request-floor' ? FLOOR_ROUNDS : 3;
  const rounds = values.rounds === undefined ? usual : options.rounds;
  console.error(`${name}: ${rounds} rounds, ${seconds} s a measurement …`);
  const line = { ...(await bench({ ...options, rounds })), seconds, rounds, machine };
  console.log(JSON.stringify(line));
  const asked = stored.filter((each) => each.bench === name);
  for (const verdict of checkRatios(asked, line)) {
    console.error(describeRatio(verdict));
    verdicts.push(verdict);
  }
}
if (values.accept) acceptRatios(verdicts);
else if (verdicts.some(({ holds }) => !holds)) process.exitCode = 1;
