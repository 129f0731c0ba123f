/**
 * Imports one edition of a catalogue. A second run with the same arguments continues an interrupted one.
 *
 *     node examples/import/import-file.ts --address <url> --tenant <id> --source <id> --version <number>
 *                                         --import-id <id> --file <path>
 *
 * Prints a JSON line for each step. Exits with 0 when the version is published, with 3 when it is refused.
 */
import { parseArgs } from 'node:util';
import { itemOf } from './catalogue.ts';
import { TenantClient } from './client.ts';
import { importSource } from './importer.ts';
import { fileSource } from './source.ts';

const names = ['address', 'tenant', 'source', 'version', 'import-id', 'file'] as const;
const { values } = parseArgs({
  options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
});
const missing = names.filter((name) => typeof values[name] !== 'string');
if (missing.length > 0) {
  console.error(`missing: ${missing.map((name) => `--${name}`).join(', ')}`);
  process.exit(2);
}
const [address = '', tenantId = '', sourceId = '', version = '', importId = '', file = ''] = names.map(
  (name) => String(values[name]),
);

const source = await fileSource(file, { importId, sourceId, sourceVersion: Number(version) }, itemOf);
const outcome = await importSource(new TenantClient({ address, tenantId }), source, { onProgress: say });
say(outcome);
process.exitCode = outcome.status === 'published' ? 0 : 3;

function say(step: object): void {
  console.log(JSON.stringify(step));
}
