import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../src/index.ts';
import type { Steps } from '../src/worker/index.ts';
import { type RunDefinition, runSteps } from '../src/worker/steps/run-steps.ts';
import { RunStage } from './steps-stage.ts';

/** Advice for authors of handlers with steps. */

/** Two executions of a handler that waits in between; `tokens` are those of its executions. */
async function logOf(tokens: readonly string[], isDevelopment = true): Promise<readonly string[]> {
  const stage = new RunStage();
  let execution = 0;
  const definition: RunDefinition = {
    id: 'h',
    run: async ({ step, sleep }: Steps) => {
      const token = tokens[execution] ?? '';
      execution += 1;
      await step(['mail', token], () => 1);
      await step('stays', () => 2);
      await sleep('rest', '1h');
    },
  };
  const run = async (): Promise<JsonValue> => {
    const over = new AbortController();
    stage.attempt += 1;
    return runSteps(definition, { ...stage.port(over), isDevelopment }).catch(() => null);
  };
  await run();
  await run();
  return stage.log;
}

describe('a name that looks random', () => {
  const uuids = ['0f8fad5b-d9cb-469f-a165-70867728950e', '7c9e6679-7425-40de-944b-e07fc1f90ae7'];

  test.each([
    ['a uuid', uuids],
    ['a moment in milliseconds', ['1767225600000', '1767225600017']],
  ])('and is another one in the next execution is reported: %s', async (_, tokens) => {
    expect(await logOf(tokens)).toEqual([
      `step names must repeat: "mail/${tokens[1]}" was "mail/${tokens[0]}" in an earlier execution`,
    ]);
  });

  test('is not reported where it repeats, where it is no random one, or beside Production servers', async () => {
    expect(await logOf([uuids[0] ?? '', uuids[0] ?? ''])).toEqual([]);
    expect(await logOf(['a', 'b'])).toEqual([]);
    expect(await logOf(uuids, false)).toEqual([]);
  });
});

test('a step within a step throws, and names the outer one', async () => {
  const stage = new RunStage();
  const ended = await stage.drive({
    id: 'h',
    run: ({ step }: Steps) =>
      step('outer', () => step('inner', () => 1).catch((error: unknown) => (error as Error).message)),
  });
  expect(ended.result).toBe('The work of the step "outer" must not call another operation.');
});

test('a value that is too large for a checkpoint is refused, with the call that keeps it', async () => {
  const ended = await new RunStage().drive({
    id: 'h',
    run: ({ step }: Steps) => step('report', () => 'x'.repeat(1_048_576)),
  });
  expect(ended.error?.message).toBe(
    '"report" failed: The value has 1048578 bytes as JSON; 1048576 are the limit. Keep it with context.putArtifact.',
  );
});
