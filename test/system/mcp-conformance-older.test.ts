import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { toolsMissing } from '../../scripts/tools.ts';
import { type OfficialOutcome, runOfficialScenarios } from './official-scenarios.ts';

/** O02: the official scenarios of 2025-11-25 that need neither a session nor a request of the server. */

const passing: readonly (readonly [scenario: string, checks: number])[] = [
  ['server-initialize', 2],
  ['ping', 2],
  ['completion-complete', 2],
  ['tools-list', 3],
  ['tools-call-simple-text', 2],
  ['tools-call-image', 2],
  ['tools-call-audio', 2],
  ['tools-call-embedded-resource', 2],
  ['tools-call-mixed-content', 2],
  ['tools-call-error', 2],
  ['tools-call-with-progress', 2],
  ['resources-list', 2],
  ['resources-read-text', 2],
  ['resources-read-binary', 2],
  ['resources-templates-read', 2],
  ['prompts-list', 2],
  ['prompts-get-simple', 2],
  ['prompts-get-with-args', 2],
  ['prompts-get-embedded-resource', 2],
  ['prompts-get-with-image', 2],
  ['dns-rebinding-protection', 2],
  // The official verdict does not count this one.
  ['json-schema-2020-12', 8],
];

/** Scenarios that need a session, a request of the server or a feature that is not offered, with the checks that fail. */
const leftOut: Readonly<Record<string, number>> = {
  'logging-set-level': 1,
  'tools-call-with-logging': 1,
  'tools-call-sampling': 1,
  'tools-call-elicitation': 1,
  'elicitation-sep1034-defaults': 1,
  'elicitation-sep1330-enums': 1,
  'resources-subscribe': 1,
  'resources-unsubscribe': 1,
  // Without a session id these three judge nothing.
  'server-sse-multiple-streams': 0,
  'server-session-lifecycle': 0,
  'server-sse-polling': 0,
};

let outcome: OfficialOutcome;

beforeEach(({ skip }) => skip(toolsMissing !== undefined, toolsMissing));
beforeAll(async () => {
  if (toolsMissing !== undefined) return;
  outcome = await runOfficialScenarios('2025-11-25');
});

test.each(passing)('O02: %s passes all of its %i checks', (scenario, checks) => {
  expect(outcome.countsOf(scenario), outcome.output).toEqual([checks, 0]);
});

test('O02: no other checks fail than those of the scenarios that are left out', () => {
  const failed = Object.keys(leftOut).map((scenario) => [scenario, outcome.countsOf(scenario)[1]]);
  expect(Object.fromEntries(failed), outcome.output).toEqual(leftOut);
  expect(outcome.output).toMatch(/^Total: 59 passed, 8 failed$/m);
  const ran = [...outcome.output.matchAll(/^\S+ ([a-z0-9-]+): \d+ passed, \d+ failed/gm)].map(
    ([, name = '']) => name,
  );
  expect(ran.sort()).toEqual([...passing.map(([name]) => name), ...Object.keys(leftOut)].sort());
});

test('O02: the page names each scenario that is left out, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/mcp.md'), 'utf8');
  const [, table = ''] = /\| Scenarios \| Reason \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const named = [...table.matchAll(/`([a-z0-9-]+)`/g)].map(([, name = '']) => name);
  expect(named.sort()).toEqual(Object.keys(leftOut).sort());
});
