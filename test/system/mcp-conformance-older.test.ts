import { beforeAll, expect, test } from 'vitest';
import { type OfficialOutcome, runOfficialScenarios } from './official-scenarios.ts';

/** O02: the official scenarios of 2025-11-25 that need neither a session nor a request of the server. */

const passing = [
  'server-initialize',
  'ping',
  'completion-complete',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'dns-rebinding-protection',
];

/** The page of the endpoint says why each is left out. */
const leftOut = [
  'logging-set-level',
  'tools-call-with-logging',
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'server-sse-multiple-streams',
  'resources-subscribe',
  'resources-unsubscribe',
];

let outcome: OfficialOutcome;

beforeAll(async () => {
  outcome = await runOfficialScenarios('2025-11-25');
});

test.each(passing)('O02: %s passes', (scenario) => {
  const [passed = 0, failed] = outcome.countsOf(scenario);
  expect(passed, outcome.output).toBeGreaterThan(0);
  expect(failed).toBe(0);
});

test('no other scenario ran than those that pass or are left out', () => {
  const ran = [...outcome.output.matchAll(/^\S+ ([a-z0-9-]+): \d+ passed, \d+ failed/gm)].map(
    ([, name]) => name,
  );
  const unscored = ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'];
  expect(ran.filter((name = '') => ![...passing, ...leftOut, ...unscored].includes(name))).toEqual([]);
});
