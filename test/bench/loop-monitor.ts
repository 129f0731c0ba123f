/**
 * Imported into a server before it starts: tells its parent how long the turns of its event loop took since the last question, and
 * how much of that its main thread has worked. The rest is disk, or other programs of a busy machine.
 */
import { createHistogram, performance } from 'node:perf_hooks';

const TICK_MS = 1;
const took = createHistogram();
const worked = createHistogram();
const cpuUs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};
let before = { atMs: performance.now(), cpuUs: cpuUs() };
setInterval(() => {
  const now = { atMs: performance.now(), cpuUs: cpuUs() };
  took.record(Math.max(1, Math.round((now.atMs - before.atMs) * 1000)));
  worked.record(Math.max(1, now.cpuUs - before.cpuUs));
  before = now;
}, TICK_MS).unref();

const milliseconds = (us: number): number => Number((us / 1000).toPrecision(3));
process.on('message', () => {
  process.send?.({
    p99Ms: milliseconds(took.percentile(99)),
    p999Ms: milliseconds(took.percentile(99.9)),
    workedP999Ms: milliseconds(worked.percentile(99.9)),
    workedP99Ms: milliseconds(worked.percentile(99)),
    workedMaxMs: milliseconds(worked.max),
  });
  took.reset();
  worked.reset();
});
process.channel?.unref();
