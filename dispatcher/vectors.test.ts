import { describe, expect, test } from 'vitest';
import { Dispatcher } from './dispatcher.ts';
import { errorText } from './errors.ts';
import { Stage } from './stage.fixture.ts';
import { play, vectors } from './vectors.fixture.ts';

describe('a dispatcher', () => {
  test.each(vectors.scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) =>
    play(scenario),
  );

  test.each(vectors.refusedOptions)('%o is no option', (options) => {
    const { outbox } = new Stage();
    const given = { client: outbox, tenantId: 'a', consumerId: 'c', ...options };
    expect(() => new Dispatcher(given)).toThrow(RangeError);
  });

  test.each(vectors.reasons)(
    'a reason fits what an outbox keeps (%#)',
    ({ unit, times, then, shown, end }) => {
      expect(errorText(new Error(unit.repeat(times) + then))).toBe(unit.repeat(shown) + end);
    },
  );
});
