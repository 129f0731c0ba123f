/** One measurement of searches in a process of its own: its name and its task come as arguments, its figures go out as JSON. */
import { measureBare } from './search-bare.ts';
import { measureSearchHttp } from './search-http.ts';
import { measurePostgres, measureSqlite } from './search-own.ts';
import { measurePeer } from './search-peers.ts';
import type { SearchTask } from './search-task.ts';

const parts: Readonly<Record<string, (task: SearchTask) => Promise<object>>> = {
  bare: measureBare,
  sqlite: measureSqlite,
  postgresql: measurePostgres,
  http: measureSearchHttp,
  ...measurePeer,
};

const [name = '', task = ''] = process.argv.slice(2);
const measure = parts[name];
if (measure === undefined) throw new Error(`there is no measurement ${name}`);
const began = performance.now();
const cpu = process.cpuUsage();
const figures = await measure(JSON.parse(task) as SearchTask);
const { user, system } = process.cpuUsage(cpu);
const spent = {
  wholeSeconds: Math.round((performance.now() - began) / 100) / 10,
  processorSeconds: Math.round((user + system) / 1e5) / 10,
  rssMaxMiB: Math.round(process.resourceUsage().maxRSS / 1024),
};
console.log(JSON.stringify({ ...figures, ...spent }));
