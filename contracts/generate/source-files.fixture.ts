import { isDeepStrictEqual } from 'node:util';
import type { CatalogOperation, CatalogParameter, CatalogRoute } from './catalog.ts';
import { CATALOG_FILE, groupFile, SHARED_FILE, splitCatalog } from './compose-catalog.ts';
import { expandGroups, type Surroundings } from './entries/expand.ts';
import { shorter } from './entries/lint.ts';
import type { ComposedEntry, EntrySource } from './entries/types.ts';
import type { ToolMap } from './mcp/types.ts';
import type { ContractSource } from './source.ts';

/** The files under the root from which `readSource` reads this contract, and those that its evidence names. */
export function sourceFiles(
  { catalog, catalogSchema, models, problems, limits, tools, ...release }: ContractSource,
  sourceSchema: object,
): ReadonlyMap<string, unknown> {
  const { whole, groups } = splitCatalog(catalog);
  const evidence = catalog.operations.flatMap(({ evidence: { fixtures, tests } }) => [...fixtures, ...tests]);
  const $defs = Object.fromEntries([...models.values()].map(({ name, schema }) => [name, schema]));
  const parameters = repeatedParameters(catalog.operations);
  const surroundings: Surroundings = {
    shared: {
      parameters,
      toolModels: tools?.models ?? {},
      evidence: { fixtures: evidence.slice(0, 1), catalogTests: evidence.slice(1, 2) },
      impliedProblems: {
        everyRequest: ['not_found', 'store_contention'],
        rateLimit: [],
        authenticated: [],
        pathParameter: [],
        continuationToken: [],
        requestBody: [],
        write: [],
        jobAdmission: [],
      },
    },
    classes: whole.authorizationClasses,
    problemOrder: problems.map(({ code }) => code),
  };
  const files = Object.entries(groups).map(([name, { operations, ...group }]) => {
    const entries = operations.map((operation) =>
      withMap(shortest(name, operation, surroundings), tools?.maps[operation.id]),
    );
    return [groupFile(name), { ...group, operations: entries }] as const;
  });
  return new Map<string, unknown>([
    ['package.json', release],
    [CATALOG_FILE, whole],
    [SHARED_FILE, surroundings.shared],
    ...files,
    ['contracts/catalog.schema.json', catalogSchema],
    ['contracts/source.schema.json', sourceSchema],
    ['contracts/schemas/depots.schema.json', { $defs }],
    ['contracts/errors.json', { errors: problems }],
    ['contracts/limits.json', { limits }],
    ...evidence.map((path) => [path, ''] as const),
  ]);
}

function withMap(entry: EntrySource, tool: ToolMap | undefined): EntrySource {
  const { mcp } = entry;
  if (tool === undefined || mcp === undefined) return entry;
  return { ...entry, mcp: { ...(typeof mcp === 'string' ? { exposure: mcp } : mcp), tool } };
}

/** The entry that is written out as this operation, without any member that a default says. */
function shortest(name: string, operation: ComposedEntry, surroundings: Surroundings): EntrySource {
  const isWhole = (entry: EntrySource): boolean => {
    const group = { position: 0, title: '', description: '', operations: [entry] };
    const { operations } = expandGroups({ [name]: group }, surroundings)[name] ?? { operations: [] };
    return isDeepStrictEqual(operations[0], operation);
  };
  for (let entry = written(operation, surroundings.shared.parameters ?? {}); ; ) {
    const next = shorter(entry).find(([, each]) => isWhole(each as EntrySource));
    if (next === undefined) return entry;
    entry = next[1] as EntrySource;
  }
}

/** The parameters that several operations have, by their names. */
function repeatedParameters(
  operations: readonly CatalogOperation[],
): Readonly<Record<string, CatalogParameter>> {
  const all = operations.flatMap(({ parameters }) => parameters);
  const several = all.filter((each, at) =>
    all.some((other, index) => index !== at && isDeepStrictEqual(each, other)),
  );
  return Object.fromEntries(several.map((each) => [subjectName(each), each]));
}

function subjectName({ name }: CatalogParameter): string {
  return name.replaceAll('-', '').replace(/^[A-Z]/, (letter) => letter.toLowerCase());
}

/** The entry with every member. */
function written(
  { routes, request, responses, sdk, parameters, ...rest }: ComposedEntry,
  named: Readonly<Record<string, CatalogParameter>>,
): EntrySource {
  const [canonical, ...aliases] = routes.map(({ method, path, ...route }: CatalogRoute) => ({
    ...route,
    route: `${method} ${path}`,
  }));
  if (canonical === undefined) throw new Error(`${rest.id} has no route`);
  return {
    ...rest,
    route: canonical.route,
    parameters: parameters.map((each) =>
      isDeepStrictEqual(named[subjectName(each)], each) ? subjectName(each) : each,
    ),
    aliases,
    ...(sdk === null ? {} : { sdk }),
    ...(request === null ? {} : { request: withoutNulls(request) }),
    responses: responses.map((response) => withoutNulls(response)),
  } as EntrySource;
}

function withoutNulls(value: CatalogOperation['request'] | object): object {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== null));
}
