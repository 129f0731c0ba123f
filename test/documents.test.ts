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
