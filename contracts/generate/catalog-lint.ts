import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Catalog } from './catalog.ts';
import { CATALOG_FILE, groupFile, splitCatalog } from './compose-catalog.ts';
import { lintOperation } from './operation-lint.ts';
import { PROBLEM_MODEL } from './roles.ts';
import { lintRoutes, repeated } from './route-lint.ts';
import { compiledShapes, shapeFaults } from './shape.ts';
import type { ContractSource } from './source.ts';

/**
 * The faults of the catalog, one sentence each, beginning with the file. Checks the JSON Schema of each file first, then
 * the rules that span members. Looks for evidence files under `root`; without `root` it skips that check.
 */
export function lintCatalog(source: ContractSource, root?: string): readonly string[] {
  const { catalog } = source;
  const misshapen = lintShapes(source);
  if (misshapen.length > 0) return misshapen;
  return [
    ...lintTables(source),
    ...lintAuthorizationClasses(catalog),
    ...lintUniqueness(catalog),
    ...catalog.operations.flatMap((operation) =>
      [...lintRoutes(operation, source), ...lintOperation(operation, source, root)].map(
        (fault) => `${groupFile(operation.group)}: ${operation.id}: ${fault}`,
      ),
    ),
  ];
}

const compiled = new WeakMap<object, Ajv2020>();

/** Compiled once for all catalogs that are checked with it. */
function shapesOf(schema: object): Ajv2020 {
  const ajv = compiled.get(schema) ?? compiledShapes({ 'catalog.schema.json': schema });
  compiled.set(schema, ajv);
  return ajv;
}

/** Validates the catalog file and each composed group against `catalog.schema.json`. */
function lintShapes({ catalog, catalogSchema }: ContractSource): readonly string[] {
  const ajv = shapesOf(catalogSchema as object);
  const faultsOf = (path: string, shape: string, value: object) =>
    shapeFaults(ajv, `catalog.schema.json#/$defs/${shape}`, path, value);
  const { whole, groups } = splitCatalog(catalog);
  const homeless = catalog.operations.filter(({ group }) => !Object.hasOwn(groups, group));
  return [
    ...homeless.map(({ id, group }) => `${groupFile(group)}: ${id}: unknown group ${group}`),
    ...faultsOf(CATALOG_FILE, 'CatalogFile', whole),
    ...Object.entries(groups).flatMap(([name, file]) => [
      ...(/^[a-z][a-z0-9]*$/.test(name)
        ? []
        : [`${groupFile(name)}: the name of a group may use a-z and 0-9 only`]),
      ...faultsOf(groupFile(name), 'ComposedGroup', file),
    ]),
  ];
}

/** A class has both a settings section and the policy that reads it, or neither. */
function lintAuthorizationClasses({ authorizationClasses }: Catalog): readonly string[] {
  return Object.entries(authorizationClasses)
    .filter(([, { settings, policy }]) => (settings === null) !== (policy === null))
    .map(
      ([name]) => `${CATALOG_FILE}: authorization class ${name} needs both settings and policy, or neither`,
    );
}

function lintTables({ catalog, problems, limits, version, models }: ContractSource): readonly string[] {
  return [
    ...(catalog.catalogVersion === version
      ? []
      : [`${CATALOG_FILE}: catalogVersion ${catalog.catalogVersion} is not the release version ${version}`]),
    ...(models.has(PROBLEM_MODEL) ? [] : [`the model ${PROBLEM_MODEL} is missing`]),
    ...repeated(problems.map(({ code }) => code)).map((code) => `problem code ${code} is defined twice`),
    ...problems
      .filter(({ code, status }) => !/^[a-z]+(_[a-z]+)*$/.test(code) || status < 400 || status > 599)
      .map(({ code }) => `problem code ${code} is malformed or has no error status`),
    ...repeated(limits.map(({ name }) => name)).map((name) => `limit ${name} is defined twice`),
    ...limits
      .filter(({ name, value }) => !/^[a-z][A-Za-z0-9]*$/.test(name) || !Number.isSafeInteger(value))
      .map(({ name }) => `limit ${name} has a malformed name or is not an integer`),
  ];
}

function lintUniqueness({ operations, excluded }: Catalog): readonly string[] {
  const routes = [...operations.flatMap((operation) => operation.routes), ...excluded];
  const shapes = routes.map(({ method, path }) => `${method} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`);
  const sdk = operations.flatMap((operation) => (operation.sdk === null ? [] : [operation.sdk]));
  const exposed = operations.flatMap(({ mcp }) => [mcp.name, mcp.uri]).filter((name) => name !== null);
  return [
    ...repeated(operations.map(({ id }) => id)).map((id) => `operation id ${id} is used twice`),
    ...repeated(routes.map(({ operationId }) => operationId)).map(
      (id) => `route operationId ${id} is used twice`,
    ),
    ...repeated(shapes).map((shape) => `route ${shape} is used twice`),
    ...repeated(sdk.map(({ python }) => python)).map((name) => `Python name ${name} is used twice`),
    ...repeated(sdk.map(({ typescript }) => typescript)).map(
      (name) => `TypeScript name ${name} is used twice`,
    ),
    ...repeated(exposed).map((name) => `MCP name ${name} is used twice`),
  ];
}
