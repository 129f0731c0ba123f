import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Lists in pages are handwritten: each is compared with the groups of the catalogue. */

const groups = readdirSync('contracts/operations').map((file) => file.replace(/\.json$/, ''));

/** The line or the section that lists the functions. */
const lists: Readonly<Record<string, RegExp>> = {
  'docs/infrastructure.md': /^\| Functions \|.*$/m,
  'docs/local-cloud.md': /^\| functions +\|.*$/m,
  'docs/firebase.md': /^\| Path, for example \|[^]*?\n\n/m,
};

test.each(Object.entries(lists))('%s names the function of each group', (page, list) => {
  const [text = ''] = list.exec(readFileSync(page, 'utf8')) ?? [];
  const named = new Set([...text.matchAll(/`(?:svc-)?([a-z]+)`/g)].map((match) => match[1]));
  expect(groups.filter((group) => !named.has(group))).toEqual([]);
});

test.each(['README.md', 'docs/deploy.md', 'docs/production.md'])(
  '%s installs as decided: npm install',
  (page) => {
    expect(readFileSync(page, 'utf8')).not.toMatch(/npm ci\b/);
  },
);
