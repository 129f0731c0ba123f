import { resolve } from 'node:path';
import { drift, write } from '../contracts/generate/disk.ts';
import { settingsPage, settingsSchema } from '../functions/config/reference.ts';

/**
 * `node scripts/settings-reference.ts` writes the reference of all settings and the schema of settings files; with
 * `--check` it only compares and fails on a difference.
 */
const root = resolve(import.meta.dirname, '..');
const outputs = new Map([
  ['docs/reference/settings.md', settingsPage()],
  ['docs/reference/svcsettings.schema.json', `${JSON.stringify(settingsSchema(), null, 2)}\n`],
]);

if (process.argv.includes('--check')) {
  const paths = drift(root, outputs, []);
  for (const path of paths) console.error(`${path} differs from the output of npm run generate`);
  process.exitCode = paths.length === 0 ? 0 : 1;
} else {
  for (const path of write(root, outputs, [])) console.log(path);
}
