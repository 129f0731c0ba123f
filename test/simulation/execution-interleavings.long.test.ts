import { describe, expect, test } from 'vitest';
import { EXECUTION_FLAWS } from './execution-flaws.ts';
import { interleaveAll, RIVALS, type Scenario, scenarios } from './execution-interleavings.ts';

/** Fewer would mean that the rivals did not get in each other's way. */
const COURSES_MIN = 3;

describe('every interleaving of concurrent calls on a run equals a sequence', () => {
  test.each(Object.keys(RIVALS))('while it is %s', async (state) => {
    for (const scenario of scenarios().filter((each) => each.state === state)) {
      const courses = await interleaveAll(scenario);
      expect(courses, scenario.rivals.join()).toBeGreaterThanOrEqual(COURSES_MIN);
    }
  });
});

const PLANTED: readonly (Scenario & { readonly flaw: string })[] = [
  { flaw: 'unguarded-reads', state: 'queued', rivals: ['cancels', 'leases'] },
  { flaw: 'torn-writes', state: 'queued', rivals: ['cancels', 'leases'] },
  { flaw: 'double-claim', state: 'running', rivals: ['cancels', 'looks'] },
  { flaw: 'any-token', state: 'running', rivals: ['succeeds', 'leases when it has run out'] },
  { flaw: 'taken-too-early', state: 'running', rivals: ['leases when it has run out', 'beats'] },
  { flaw: 'lost-heartbeat', state: 'running', rivals: ['cancels', 'beats'] },
  { flaw: 'forgotten-completion', state: 'running', rivals: ['succeeds', 'fails'] },
  { flaw: 'deaf-to-cancel', state: 'running', rivals: ['cancels', 'succeeds'] },
  { flaw: 'parked-though-cancelled', state: 'running', rivals: ['cancels', 'waits for an event'] },
  { flaw: 'event-dropped', state: 'running', rivals: ['waits for an event', 'raises', 'raises too'] },
  { flaw: 'late-event', state: 'waiting for an event', rivals: ['cancels', 'raises at the deadline'] },
];

test.each(PLANTED)('a planted bug is found: $flaw', async ({ flaw, ...scenario }) => {
  await expect(interleaveAll(scenario, EXECUTION_FLAWS[flaw])).rejects.toThrow();
});
