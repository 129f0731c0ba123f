import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

test('the wire suite holds through a balancer over two processes, one killed and started again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'two-wire-'));
  const report = join(folder, 'report.json');
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const args = ['run', '--project', 'plain', '--reporter=json', `--outputFile.json=${report}`, 'test/wire'];
  const { PATH = '', HOME = '' } = process.env;
  await run(process.execPath, [vitest, ...args], {
    env: { PATH, HOME, SVC_WIRE_PROCESSES: '2' },
    maxBuffer: 2 ** 26,
  });
  const text = readFileSync(report, 'utf8');
  const { numFailedTests, numPassedTests } = JSON.parse(text) as Readonly<Record<string, number>>;
  expect(numFailedTests).toBe(0);
  expect(numPassedTests).toBeGreaterThan(300);
  expect(text).toContain('two processes');
  rmSync(folder, { recursive: true });
});
