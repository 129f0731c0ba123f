import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Catalog } from './catalog.ts';
import { CATALOG_FILE, type CatalogFile, composeCatalog, groupFile, SHARED_FILE } from './compose-catalog.ts';
import { expandGroups, type Surroundings } from './entries/expand.ts';
import { lintEntries } from './entries/lint.ts';
import type { GroupSource, SharedSource } from './entries/types.ts';
import type { ToolMap, ToolSource } from './mcp/types.ts';
import { type Json, type Model, mapReferences, REFERENCE, type Schema } from './schema.ts';
import { compiledShapes, shapeFaults } from './shape.ts';

export interface ProblemSource {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
  readonly description: string;
  readonly whoActs: string;
}

interface LimitSource {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly description: string;
  readonly source: string;
}

/** The input of the generator. */
export interface ContractSource {
  readonly catalog: Catalog;
  /** Schema of the catalog itself. */
  readonly catalogSchema: Json;
  readonly models: ReadonlyMap<string, Model>;
  readonly problems: readonly ProblemSource[];
  readonly limits: readonly LimitSource[];
  /** Release version, from `package.json`. */
  readonly version: string;
  readonly license: string;
  /** The maps of tools. Absent: none. */
  readonly tools?: ToolSource;
}

/**
 * Reads the contract under `root` and writes its entries out. Throws if a file is missing or not JSON, if a reference has no
 * target, or if an entry names a part that does not exist.
 */
export function readSource(root: string): ContractSource {
  const read = (path: string) => readJson(join(root, path));
  const release = read('package.json') as { version: string; license: string };
  const surroundings = readSurroundings(root);
  const groups = readEntries(join(root, OPERATIONS));
  return {
    catalog: composeCatalog(read(CATALOG_FILE) as CatalogFile, expandGroups(groups, surroundings)),
    catalogSchema: read('contracts/catalog.schema.json') as Json,
    models: readModels(join(root, 'contracts/schemas')),
    problems: (read('contracts/errors.json') as { errors: ProblemSource[] }).errors,
    limits: (read('contracts/limits.json') as { limits: LimitSource[] }).limits,
    version: release.version,
    license: release.license,
    tools: { maps: toolMaps(groups), models: surroundings.shared.toolModels ?? {} },
  };
}

function toolMaps(groups: Readonly<Record<string, GroupSource>>): Readonly<Record<string, ToolMap>> {
  const entries = Object.values(groups).flatMap(({ operations }) => operations);
  return Object.fromEntries(
    entries.flatMap(({ id, mcp }) =>
      typeof mcp === 'object' && mcp.tool !== undefined ? [[id, mcp.tool] as const] : [],
    ),
  );
}

const OPERATIONS = 'contracts/operations';

/** The faults of the entries under `root`, one sentence each. `readSource` needs entries without faults. */
export function lintSource(root: string): readonly string[] {
  const schemas = ['catalog.schema.json', 'source.schema.json'];
  const ajv = compiledShapes(
    Object.fromEntries(schemas.map((name) => [name, readJson(join(root, 'contracts', name)) as object])),
  );
  const surroundings = readSurroundings(root);
  const groups = readEntries(join(root, OPERATIONS));
  const misshapen = [
    ...shapeFaults(ajv, 'source.schema.json#/$defs/SharedFile', SHARED_FILE, surroundings.shared),
    ...Object.entries(groups).flatMap(([name, group]) =>
      shapeFaults(ajv, 'source.schema.json#/$defs/GroupFile', groupFile(name), group),
    ),
  ];
  return misshapen.length > 0 ? misshapen : lintEntries(groups, surroundings);
}

/**
 * The files of a folder of group files, by the names of their groups.
 * @testonly
 */
export function readEntries(folder: string): Readonly<Record<string, GroupSource>> {
  return readFolder(folder, '.json') as Record<string, GroupSource>;
}

/**
 * The parts of the contract under `root` that entries are written out with.
 * @testonly
 */
export function readSurroundings(root: string): Surroundings {
  const read = (path: string) => readJson(join(root, path));
  return {
    shared: read(SHARED_FILE) as SharedSource,
    classes: (read(CATALOG_FILE) as CatalogFile).authorizationClasses,
    problemOrder: (read('contracts/errors.json') as { errors: ProblemSource[] }).errors.map(
      ({ code }) => code,
    ),
  };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${path} cannot be read as JSON`, { cause });
  }
}

/** The JSON files of a folder by name without `ending`, in the order of their names. */
function readFolder(directory: string, ending: string): Record<string, unknown> {
  const files = readdirSync(directory).filter((name) => name.endsWith(ending));
  return Object.fromEntries(
    files.toSorted().map((name) => [basename(name, ending), readJson(join(directory, name))]),
  );
}

function readModels(directory: string): ReadonlyMap<string, Model> {
  const files = readFolder(directory, '.schema.json') as Record<string, { $defs: Record<string, Schema> }>;
  return collectModels(Object.fromEntries(Object.entries(files).map(([name, { $defs }]) => [name, $defs])));
}

/**
 * Joins the `$defs` of several files. Names are unique across the files, and every reference has a target.
 * @testonly
 */
export function collectModels(
  files: Readonly<Record<string, Readonly<Record<string, Schema>>>>,
): ReadonlyMap<string, Model> {
  const models = new Map<string, Model>();
  for (const [file, definitions] of Object.entries(files)) {
    for (const [name, schema] of Object.entries(definitions)) {
      const other = models.get(name);
      if (other !== undefined) throw new Error(`model ${name} is defined in ${other.file} and in ${file}`);
      models.set(name, {
        name,
        file,
        schema: mapReferences(schema, (reference) => resolve(reference, file, files)),
      });
    }
  }
  return models;
}

function resolve(
  reference: string,
  from: string,
  files: Readonly<Record<string, Readonly<Record<string, Schema>>>>,
): string {
  const [, path, name] = /^(?:([a-z-]+)\.schema\.json)?#\/\$defs\/([A-Za-z0-9]+)$/.exec(reference) ?? [];
  if (name === undefined || files[path ?? from]?.[name] === undefined) {
    throw new Error(`schemas/${from}.schema.json refers to ${reference}, which does not exist`);
  }
  return `${REFERENCE}${name}`;
}
