import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const pages = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  encoding: 'utf8',
})
  .stdout.split('\n')
  .filter((page) => page !== '');

it.each(pages)('every link of %s leads somewhere', (page) => {
  const text = readFileSync(page, 'utf8');
  for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    expect(existsSync(join(dirname(page), target)), `${page} links to ${target}`).toBe(true);
  }
});

it.each(pages)('no two sections of %s have one name under one heading', (page) => {
  const above: string[] = [];
  const seen = new Set<string>();
  const lines = readFileSync(page, 'utf8')
    .replaceAll(/^(```|~~~).*?^\1/gms, '')
    .split('\n');
  for (const line of lines) {
    const [, marks = '', title] = /^(#{1,6}) +(.+?) *$/.exec(line) ?? [];
    if (title === undefined) continue;
    above.splice(marks.length - 1, above.length, title);
    const place = above.join(' / ');
    expect(seen, `${page}: ${place}`).not.toContain(place);
    seen.add(place);
  }
});
