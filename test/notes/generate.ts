/**
 * `node test/notes/generate.ts` makes the generated files of the fixture group; with `--check` it changes nothing and fails
 * where a file differs from what it would make.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type CatalogFile,
  composeCatalog,
  type GroupFile,
} from '../../contracts/generate/compose-catalog.ts';
import { drift, write } from '../../contracts/generate/disk.ts';
import { generate } from '../../contracts/generate/outputs.ts';
import type { Schema } from '../../contracts/generate/schema.ts';
import { type ContractSource, collectModels, readSource } from '../../contracts/generate/source.ts';

const root = resolve(import.meta.dirname, '../..');
const OWN = 'test/notes/contracts';
const GENERATED = `${OWN}/generated`;
/** What a group loads; documents and clients are made of the published catalog alone. */
const KEPT = /^contracts\/generated\/(models\.ts|groups\.ts|operations\.ts|operations\/|validators\/)/;

/** Models of the published contract that the group uses. */
const SHARED: ReadonlySet<string> = new Set([
  'Timestamp',
  'ProblemFault',
  'ProblemDetails',
  'AdmissionReceipt',
]);

function source(): ContractSource {
  const own = (path: string): unknown => JSON.parse(readFileSync(join(root, OWN, path), 'utf8'));
  const published = readSource(root);
  const version = published.version;
  const common = [...published.models.values()].filter(({ name }) => SHARED.has(name));
  const { $defs } = own('schemas/notes.schema.json') as { readonly $defs: Readonly<Record<string, Schema>> };
  const shared = Object.fromEntries(common.map(({ name, schema }) => [name, schema] as const));
  return {
    ...published,
    catalog: composeCatalog(
      { ...(own('catalog.json') as CatalogFile), catalogVersion: version },
      { notes: own('operations/notes.json') as GroupFile },
    ),
    models: collectModels({ common: shared, notes: $defs }),
  };
}

/** The generated files of the group by their path from the root. */
export async function notesOutputs(): Promise<ReadonlyMap<string, string>> {
  const outputs = await generate(source());
  const kept = [...outputs].filter(([path]) => KEPT.test(path));
  return new Map(kept.map(([path, text]) => [path.replace(/^contracts/, OWN), text]));
}

export async function notesDrift(): Promise<readonly string[]> {
  return drift(root, await notesOutputs(), [GENERATED]);
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const paths = await notesDrift();
    for (const path of paths) console.error(`${path} is not what node test/notes/generate.ts makes`);
    process.exitCode = paths.length === 0 ? 0 : 1;
  } else {
    for (const path of write(root, await notesOutputs(), [GENERATED])) console.log(path);
  }
}
