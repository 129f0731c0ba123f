import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Generated } from '../contracts/generate/disk.ts';
import { attackTable, occurrences } from '../test/security/registry.ts';

const PAGE = 'docs/security.md';

/** The table of attacks and their tests, inside a page that is written by hand. */
export function generated(root: string): Generated {
  const text = readFileSync(join(root, PAGE), 'utf8').replace(
    /<!-- attacks -->[\s\S]*<!-- \/attacks -->/,
    () => `<!-- attacks -->\n\n${attackTable(occurrences(root))}\n<!-- /attacks -->`,
  );
  return { files: new Map([[PAGE, text]]) };
}
