import { expect, test } from 'vitest';
import { readNavigation } from './navigation.ts';
import { searchSections, sectionsOf } from './search.ts';

const page = [
  '# Fences',
  'A fence is a unique name.',
  '## Claim a fence',
  'Use `claim` in a [commit](first-commit.md).',
  '```ts',
  '# no heading',
  'await client.commit()',
  '```',
  '## Release',
  'The owner releases it.',
].join('\n');
const slug = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');
const sections = sectionsOf('guides/fences.md', page, slug);

test('a page becomes one section per heading, with its code as text', () => {
  expect(sections.map(({ href, heading }) => [href, heading])).toEqual([
    ['guides/fences.md#fences', 'Fences'],
    ['guides/fences.md#claim-a-fence', 'Claim a fence'],
    ['guides/fences.md#release', 'Release'],
  ]);
  expect(sections[1]?.text).toContain('Use claim in a commit.');
  expect(sections[1]?.text).toContain('await client.commit()');
});

test('every word must occur, and a heading counts more than text', () => {
  const headings = (query: string) => searchSections(sections, query).map(({ heading }) => heading);
  expect(headings('OWNER releases')).toEqual(['Release']);
  expect(headings('fence commit')).toEqual(['Claim a fence']);
  expect(headings('fence owner wait')).toEqual([]);
  expect(headings('release fence')[0]).toBe('Release');
  expect(headings('   ')).toEqual([]);
});

test('a hit shows the text around the match', () => {
  const [long] = searchSections(
    sectionsOf('a.md', `# A\n${'x '.repeat(200)}needle ${'y '.repeat(200)}`, slug),
    'needle',
  );
  expect(long?.excerpt).toMatch(/^…(x ){19,20}needle (y )+y?…$/);
});

test('a hostile query costs no more than a short one says', () => {
  expect(searchSections(sections, 'fence '.repeat(10_000)).length).toBeGreaterThan(0);
  expect(searchSections(sections, '<script>')).toEqual([]);
});

test('the navigation is read from the index', () => {
  const index =
    '# Documentation\n\n## Start\n\n- [A](a.md)\n- [B](b/c.md): more\n\n## Rest\n\ntext [no](d.md)\n';
  expect(readNavigation(index)).toEqual([
    {
      title: 'Start',
      pages: [
        { path: 'a.md', title: 'A' },
        { path: 'b/c.md', title: 'B' },
      ],
    },
    { title: 'Rest', pages: [] },
  ]);
});
