import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { attackTable, occurrences } from '../test/security/registry.ts';

/**
 * `node scripts/attack-table.ts` writes the table of attacks and their tests into docs/security.md; with `--check` it
 * only compares.
 */
const root = resolve(import.meta.dirname, '..');
const path = resolve(root, 'docs/security.md');
const before = readFileSync(path, 'utf8');
const after = before.replace(
  /<!-- attacks -->[\s\S]*<!-- \/attacks -->/,
  () => `<!-- attacks -->\n\n${attackTable(occurrences(root))}\n<!-- /attacks -->`,
);
if (!process.argv.includes('--check')) writeFileSync(path, after);
else if (after !== before) {
  console.error('docs/security.md has another table of attacks than the tests: run npm run generate');
  process.exitCode = 1;
}
