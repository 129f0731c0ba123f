/**
 * The benchmarks: one JSON line each, ratios beside the bare limit of the same run.
 *
 *     npm run bench -- [--only canonical-http,providers,growth,copies,copies-http,cold-start,sdk,strict-json,timing,execution,
 *         execution-waits,execution-start,execution-recovery,execution-growth,execution-idle,execution-cloud,
 *         execution-wake,neighbours,hostile-http] [--seconds 3] [--rounds 3]
 *         [--providers sqlite,postgresql,mysql,firestore] [--megabytes 100]
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchOptions, benchCanonicalHttp } from './canonical-http.ts';
import { benchColdStart } from './cold-start.ts';
import { benchCopies } from './copies.ts';
import { benchCopiesHttp } from './copies-http.ts';
import { benchExecution } from './execution.ts';
import { benchExecutionCloud } from './execution-cloud.ts';
import { benchExecutionGrowth } from './execution-growth.ts';
import { benchExecutionIdle } from './execution-idle.ts';
import { benchExecutionRecovery } from './execution-recovery.ts';
import { benchExecutionStart } from './execution-start.ts';
import { benchExecutionWaits } from './execution-waits.ts';
import { benchExecutionWake } from './execution-wake.ts';
import { benchGrowth } from './growth.ts';
import { benchHostileHttp } from './hostile-http.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchProviders } from './providers.ts';
import { benchSdk } from './sdk.ts';
import { benchStrictJson } from './strict-json.ts';
import { benchTiming } from './timing.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<object>>> = {
  'canonical-http': benchCanonicalHttp,
  providers: benchProviders,
  growth: benchGrowth,
  copies: benchCopies,
  'copies-http': benchCopiesHttp,
  'cold-start': benchColdStart,
  sdk: benchSdk,
  'strict-json': benchStrictJson,
  timing: benchTiming,
  execution: benchExecution,
  'execution-waits': benchExecutionWaits,
  'execution-start': benchExecutionStart,
  'execution-recovery': benchExecutionRecovery,
  'execution-growth': benchExecutionGrowth,
  'execution-idle': benchExecutionIdle,
  'execution-cloud': benchExecutionCloud,
  'execution-wake': benchExecutionWake,
  neighbours: benchNeighbours,
  'hostile-http': () => benchHostileHttp(),
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(benches).join(',') },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    providers: { type: 'string', default: 'sqlite,postgresql,mysql,firestore' },
    megabytes: { type: 'string', default: '100' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(
    `usage: npm run bench -- [--only ${Object.keys(benches).join(',')}] [--seconds 3] [--rounds 3] [--providers ${values.providers}] [--megabytes 100,500]`,
  );
  process.exit(0);
}
const options = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  providers: values.providers.split(','),
  megabytes: values.megabytes.split(',').map(Number),
};
if (!options.megabytes.every((size) => size > 0)) {
  console.error('--megabytes must be positive numbers');
  process.exit(2);
}
if (!(options.seconds > 0) || !Number.isInteger(options.rounds) || options.rounds < 1) {
  console.error('--seconds must be positive and --rounds a whole number from 1');
  process.exit(2);
}
const machine = { node: process.version, cores: cpus().length, model: cpus()[0]?.model ?? 'unknown' };
for (const name of values.only.split(',')) {
  const bench = benches[name];
  if (bench === undefined) {
    console.error(`there is no benchmark ${name}; there are: ${Object.keys(benches).join(', ')}`);
    process.exit(2);
  }
  console.error(`${name}: ${options.rounds} rounds, ${options.seconds} s a measurement …`);
  const { seconds, rounds } = options;
  console.log(JSON.stringify({ ...(await bench(options)), seconds, rounds, machine }));
}
