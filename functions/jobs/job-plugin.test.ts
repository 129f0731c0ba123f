import { expect, test } from 'vitest';
import { jobFacts } from './job-plugin.ts';

const { tagsOf, factsOf } = jobFacts<{ model: string; size: number }>({
  model: ['t.model', 'none'],
  size: ['t.size', 7],
});

test('facts come back from the tags of the run, each of its kind', () => {
  const tags = tagsOf({ model: '12', size: 12 });
  expect(tags).toEqual({ 't.model': '12', 't.size': '12' });
  expect(factsOf({ ...tags, other: 'x' })).toEqual({ model: '12', size: 12 });
});

test('a run without the tags has the values that the facts have without them', () => {
  expect(factsOf({})).toEqual({ model: 'none', size: 7 });
  expect(factsOf({ 't.size': '0', 't.model': '' })).toEqual({ model: '', size: 0 });
});
