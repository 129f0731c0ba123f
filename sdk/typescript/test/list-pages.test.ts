import { expect, test } from 'vitest';
import { WorkPlace } from './worker-stage.ts';

test('the runs of a real service are listed beyond one page, and so is the history of one', async () => {
  await using place = await WorkPlace.open(20);
  const started = await Promise.all(Array.from({ length: 7 }, () => place.start('h1')));
  const ids = started.map(({ id }) => id);
  const found: string[] = [];
  for await (const run of place.client.listExecutionRuns({ handlerId: 'h1', limit: 2 }).items())
    found.push(run.id);
  expect(found).toEqual(ids.toSorted().toReversed());

  const [first = ''] = ids;
  await place.client.cancelExecutionRun(first);
  const whole = await place.client.getExecutionRunHistory(first);
  const pages: number[] = [];
  for await (const page of place.client.getExecutionRunHistory(first, { limit: 1 }).pages())
    pages.push(page.length);
  expect(whole.length).toBeGreaterThan(1);
  expect(pages.reduce((sum, length) => sum + length, 0)).toBe(whole.length);
});
