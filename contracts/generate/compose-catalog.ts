import type { AuthorizationClass, Catalog, ExcludedRoute } from './catalog.ts';
import type { ComposedGroup } from './entries/types.ts';

/** `contracts/catalog.json`: the parts of the catalog that belong to no single group. */
export interface CatalogFile {
  readonly $schema?: string;
  readonly catalogVersion: string;
  readonly authorizationClasses: Readonly<Record<string, AuthorizationClass>>;
  readonly excluded: readonly ExcludedRoute[];
}

export const CATALOG_FILE = 'contracts/catalog.json';
export const SHARED_FILE = 'contracts/shared.json';

export function groupFile(group: string): string {
  return `contracts/operations/${group}.json`;
}

/** Joins the catalog file and the groups, whose entries are written out. Groups stand in the order of their `position`, then of their names. */
export function composeCatalog(
  { $schema: _schema, ...whole }: CatalogFile,
  composed: Readonly<Record<string, ComposedGroup>>,
): Catalog {
  const ordered = Object.entries(composed).toSorted(
    ([a, { position: first }], [b, { position: second }]) => first - second || (a < b ? -1 : 1),
  );
  return {
    ...whole,
    groups: Object.fromEntries(ordered.map(([name, { operations: _operations, ...group }]) => [name, group])),
    operations: ordered.flatMap(([group, { operations }]) =>
      operations.map(({ id, ...rest }) => ({ id, group, ...rest })),
    ),
  };
}

/** Splits the catalog into the parts that `composeCatalog` joins; the lint checks each against its schema. */
export function splitCatalog({ groups, operations, ...whole }: Catalog): {
  readonly whole: CatalogFile;
  readonly groups: Readonly<Record<string, ComposedGroup>>;
} {
  const composed = Object.entries(groups).map(([name, group]) => {
    const members = operations.filter((operation) => operation.group === name);
    return [name, { ...group, operations: members.map(({ group: _group, ...rest }) => rest) }] as const;
  });
  return { whole, groups: Object.fromEntries(composed) };
}

/**
 * `public-sdk-surface.json`: the catalog as clients and release fixtures read it. The settings part, policy and rate class
 * of an authorization class stay inside the server.
 */
export function publicSurface({
  catalogVersion,
  groups,
  authorizationClasses,
  operations,
  excluded,
}: Catalog) {
  return {
    $schema: './catalog.schema.json',
    catalogVersion,
    groups: mapValues(groups, ({ title, description }) => ({ title, description })),
    authorizationClasses: mapValues(authorizationClasses, ({ description, security, accessOperations }) => ({
      description,
      security,
      accessOperations,
    })),
    operations,
    excluded,
  };
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}
