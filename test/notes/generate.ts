import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CatalogFile, composeCatalog } from '../../contracts/generate/compose-catalog.ts';
import type { Generated } from '../../contracts/generate/disk.ts';
import { expandGroups } from '../../contracts/generate/entries/expand.ts';
import { generate } from '../../contracts/generate/outputs.ts';
import type { Schema } from '../../contracts/generate/schema.ts';
import {
  type ContractSource,
  collectModels,
  readEntries,
  readSource,
  readSurroundings,
} from '../../contracts/generate/source.ts';

const OWN = 'test/notes/contracts';
const GENERATED = `${OWN}/generated`;
/** The generated files that a group loads; documents and clients come from the published catalog alone. */
const KEPT = /^contracts\/generated\/(models\.ts|groups\.ts|operations\.ts|operations\/|validators\/)/;

const EVIDENCE = {
  fixtures: [`${OWN}/operations/notes.json`],
  catalogTests: ['test/notes/contract.test.ts'],
};

/** Models of the published contract that the group uses. */
const SHARED: ReadonlySet<string> = new Set([
  'Timestamp',
  'ProblemFault',
  'ProblemDetails',
  'AdmissionReceipt',
]);

function source(root: string): ContractSource {
  const own = (path: string): unknown => JSON.parse(readFileSync(join(root, OWN, path), 'utf8'));
  const published = readSource(root);
  const surroundings = readSurroundings(root);
  const whole = own('catalog.json') as CatalogFile;
  const version = published.version;
  const common = [...published.models.values()].filter(({ name }) => SHARED.has(name));
  const { $defs } = own('schemas/notes.schema.json') as { readonly $defs: Readonly<Record<string, Schema>> };
  const shared = Object.fromEntries(common.map(({ name, schema }) => [name, schema] as const));
  return {
    ...published,
    catalog: composeCatalog(
      { ...whole, catalogVersion: version },
      expandGroups(readEntries(join(root, OWN, 'operations')), {
        ...surroundings,
        shared: { ...surroundings.shared, evidence: EVIDENCE },
        classes: whole.authorizationClasses,
      }),
    ),
    models: collectModels({ common: shared, notes: $defs }),
    tools: { maps: {}, models: {} },
  };
}

/** The generated files of the fixture group. */
export async function generated(root: string): Promise<Generated> {
  const outputs = await generate(source(root));
  const kept = [...outputs].filter(([path]) => KEPT.test(path));
  return {
    files: new Map(kept.map(([path, text]) => [path.replace(/^contracts/, OWN), text])),
    folders: [GENERATED],
  };
}
