// A reporter of vitest. Writes where the time of each file went to `<report>-times.json`, beside the JSON report, and prints
// which folders are above their budget. Only in the nightly lane such a folder fails the run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { shortestCpuMs } from '../../test/support/cpu-time.ts';
import { aboveBudget, readBudgets, warnings } from './budgets.mjs';
import { timesPath } from './times.mjs';

const ROUNDS = 5;

/** Fixed work of the kinds that tests do: text, objects, a map and a sort. Budgets count in its time. */
function calibrationLoop() {
  const words = new Map();
  for (let at = 0; at < 12_000; at += 1) {
    const text = JSON.stringify({ at, name: `word-${(at * 7_919) % 10_007}`, parts: [at, at + 1] });
    words.set(JSON.parse(text).name, text.length);
  }
  return [...words].sort(([, left], [, right]) => left - right).length;
}

/** The time in which at least one of several concurrent tests ran; tests in a row count one by one. */
function testsMs(/** @type {{ startTime: number, duration: number, concurrent: boolean }[]} */ tests) {
  let total = 0;
  let end = 0;
  for (const test of tests.toSorted((left, right) => left.startTime - right.startTime)) {
    const testEnd = test.startTime + test.duration;
    total += test.concurrent ? Math.max(0, testEnd - Math.max(test.startTime, end)) : test.duration;
    end = Math.max(end, testEnd);
  }
  return total;
}

/** The parts of the time of one file; `hooks` are those around all tests: a test's own time holds the hooks around each. */
function timesOf(/** @type {import('vitest/node').TestModule} */ module, /** @type {string} */ root) {
  const { environmentSetupDuration, prepareDuration, setupDuration, collectDuration, duration } =
    module.diagnostic();
  const cases = [...module.children.allTests()];
  const ran = cases.flatMap((test) => {
    const diagnostic = test.diagnostic();
    return diagnostic ? [{ ...diagnostic, concurrent: test.options.concurrent === true }] : [];
  });
  const tests = Math.min(testsMs(ran), duration);
  const suites = [...module.children.allSuites()];
  return {
    name: relative(root, module.moduleId).replaceAll('\\', '/'),
    startUp: environmentSetupDuration + prepareDuration + setupDuration,
    import: collectDuration,
    hooks: duration - tests,
    tests,
    cpu: module.meta().cpuMs ?? 0,
    count: cases.length,
    errors: [module, ...suites].flatMap((suite) => suite.errors().map(textOf)),
  };
}

function textOf(/** @type {{ stack?: string, message: string }} */ { stack, message }) {
  return stack ?? message;
}

export default class TimesReporter {
  onInit(/** @type {import('vitest/node').Vitest} */ { config }) {
    const { outputFile } = config;
    this.root = config.root;
    this.report = typeof outputFile === 'string' ? outputFile : outputFile?.json;
    this.startMs = performance.now();
    this.calibrationMs = shortestCpuMs(ROUNDS, calibrationLoop);
  }

  onTestRunEnd(modules, unhandledErrors) {
    if (this.report === undefined) return;
    const wallMs = performance.now() - this.startMs;
    const times = {
      lane: basename(this.report, '.json'),
      seed: process.env['TEST_SEED'] ?? '0',
      wallMs,
      calibrationMs: (this.calibrationMs + shortestCpuMs(ROUNDS, calibrationLoop)) / 2,
      errors: unhandledErrors.map(textOf),
      files: modules.map((module) => timesOf(module, this.root)),
    };
    const path = timesPath(resolve(this.root, this.report));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(times));
    const budgets = readBudgets(this.root);
    // Only a whole lane has budgets. Another run has a report with another name.
    if (budgets[times.lane] === undefined) return;
    for (const warning of warnings(times, budgets)) console.warn(warning);
    if (process.env['TEST_NIGHTLY'] === 'true' && aboveBudget(times, budgets).length > 0)
      process.exitCode = 1;
  }
}
