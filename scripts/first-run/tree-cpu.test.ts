import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { treeCpuSeconds } from './tree-cpu.ts';

const SECONDS = 0.4;
/** Works for that much processor time, says so, and ends with its input. */
const work = `
  while (process.cpuUsage().user + process.cpuUsage().system < ${SECONDS * 1e6});
  console.log('worked');
  process.stdin.resume();
`;

const isLinux = process.platform === 'linux';

test.skipIf(!isLinux)(
  `the processor time of grandchildren counts while they run, and when they have ended${isLinux ? '' : ' (skipped: it is read from /proc)'}`,
  async () => {
    const before = treeCpuSeconds() ?? Number.NaN;
    // The shell waits for its child, in a group of its own.
    const child = spawn('sh', ['-c', '"$0" -e "$1"; true', process.execPath, work], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
    const ended = once(child, 'close');
    await once(child.stdout, 'data');
    const running = (treeCpuSeconds() ?? Number.NaN) - before;
    child.stdin.end();
    await ended;
    const afterwards = (treeCpuSeconds() ?? Number.NaN) - before;
    // The kernel counts in ticks of a hundredth.
    expect(running).toBeGreaterThan(SECONDS - 0.05);
    expect(running).toBeLessThan(SECONDS * 5);
    expect(afterwards).toBeGreaterThan(running - 0.05);
    expect(afterwards).toBeLessThan(SECONDS * 5);
  },
);
