import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { toolsMissing } from '../../scripts/tools.ts';
import { type OfficialOutcome, runOfficialScenarios } from './official-scenarios.ts';

/** O02: the official conformance scenarios of the revision, against the endpoint with a catalog that has their fixtures. */

/** The scenarios of the tasks extension. The official verdict leaves them out, so each has a gate of its own. */
const tasks: readonly (readonly [scenario: string, checks: number])[] = [
  ['tasks-lifecycle', 9],
  ['tasks-capability-negotiation', 5],
  ['tasks-wire-fields', 4],
  ['tasks-request-state-removal', 3],
  ['tasks-mrtr-input', 4],
  ['tasks-request-headers', 5],
  ['tasks-dispatch-and-envelope', 9],
  ['tasks-required-task-error', 3],
  ['tasks-mrtr-composition', 2],
];

/** Other scenarios, which the official verdict does not count yet. */
const pending = ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation'];

let outcome: OfficialOutcome;

beforeEach(({ skip }) => skip(toolsMissing !== undefined, toolsMissing));
beforeAll(async () => {
  if (toolsMissing !== undefined) return;
  outcome = await runOfficialScenarios('2026-07-28');
});

test('O02: every required scenario passes', () => {
  expect(outcome.exitCode, outcome.output).toBe(0);
  const [, passed, failed] = /^Total: (\d+) passed, (\d+) failed/m.exec(outcome.output) ?? [];
  expect(Number(failed), outcome.output).toBe(0);
  // A runner that finds no scenario passes none.
  expect(Number(passed)).toBeGreaterThanOrEqual(194);
});

describe('O02: a scenario that the verdict leaves out', () => {
  test.each(tasks)('%s passes all of its %i checks', (scenario, checks) => {
    expect(outcome.countsOf(scenario), outcome.output).toEqual([checks, 0]);
  });

  test.each(pending)('%s passes', (scenario) => {
    const [passed = 0, failed] = outcome.countsOf(scenario);
    expect(passed).toBeGreaterThan(0);
    expect(failed).toBe(0);
  });
});
