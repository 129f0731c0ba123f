import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { extremes } from '../security/extremes.ts';
import { contractModels } from '../security/schema-set.ts';
import { allEntries } from '../security/target.ts';
import { difference, givesBack, startTwins, type Twins } from '../security/twins.ts';
import { patienceMs, seedOf, share } from '../support/effort.ts';
import type { TestedStore } from './stores/tested-store.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

/** The number of extreme values per operation in a run for a change; a nightly run tries all, 17,000 in all. */
const TRIED = share(6, Infinity);

interface Attempted {
  readonly id: string;
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  readonly model: string;
}

/**
 * Operations whose examples name resources that no furnished tenant has: each database refuses them in the same way.
 */
const refused: ReadonlySet<string> = new Set([
  // Needs an event that is dead-lettered, which takes a last delivery to fail.
  'replayCanonicalOutbox',
]);

/**
 * Each member of each operation at the edges of its rules: each database answers as SQLite does, byte by byte, ends the same jobs, and
 * no value is a fault of the service.
 */
export function describeExtremes(tested: TestedStore): void {
  describe(`extreme values: ${tested.title}`, () => {
    let twins: Twins;
    beforeAll(async () => {
      twins = await startTwins(tested);
    });
    afterAll(() => twins.close());

    test.each(attempted())('$id', async ({ id, entry, route, model }) => {
      let place = await twins.furnish(entry, route);
      const first = await place.send();
      const isUsedUp = first.tested.status < 300 && (await place.send()).tested.status >= 400;
      expect(first.tested.status < 300, `the example of ${id}: ${first.tested.body}`).toBe(!refused.has(id));
      const wrong: string[] = [];
      const set = contractModels();
      const all = givesBack(set, entry) ? [] : extremes(set, model, place.draft.body as Json);
      for (const { label, value } of some(all, id)) {
        if (isUsedUp) place = await twins.furnish(entry, route);
        const { tested: own, sqlite } = await place.send(value);
        const differs = difference(own, sqlite);
        if (own.status >= 500 || differs !== null)
          wrong.push(`${label}: ${own.status} ${differs ?? own.body}`);
      }
      expect(wrong.join('\n')).toBe('');
    });
  });
}

/** One value of each section of the list, by a seed of its own. */
function some<T>(all: readonly T[], name: string): readonly T[] {
  const count = Math.min(TRIED, all.length);
  const length = all.length / count;
  return Array.from({ length: count }, (_, at) => {
    const within = (Math.abs(seedOf(`${name} ${at}`)) % 1_000) / 1_000;
    return all[Math.floor((at + within) * length)] as T;
  });
}

function attempted(): readonly Attempted[] {
  return allEntries.flatMap((entry) => {
    const { id, requestSchema: model, requestMediaType, routes } = entry;
    const [route] = routes;
    const isJson = model !== null && requestMediaType === 'application/json';
    return route === undefined || !isJson || route.bodyFromParameters ? [] : [{ id, entry, route, model }];
  });
}
