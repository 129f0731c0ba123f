import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Catalog } from './catalog.ts';
import { lintOperation } from './operation-lint.ts';
import { PROBLEM_MODEL } from './roles.ts';
import { lintRoutes, repeated } from './route-lint.ts';
import type { ContractSource } from './source.ts';

/**
 * Every fault of the catalog as a sentence, none when it is sound. Checks its JSON Schema first and what spans several
 * members only after that. `root` is where evidence is looked up; without it, evidence is not looked up.
 */
export function lintCatalog(source: ContractSource, root?: string): readonly string[] {
  const { catalog } = source;
  const validate = new Ajv2020({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
  });
  if (!validate.validate(source.catalogSchema as object, catalog)) {
    return (validate.errors ?? []).map(({ instancePath, message }) => `catalog${instancePath}: ${message}`);
  }
  return [
    ...lintTables(source),
    ...lintUniqueness(catalog),
    ...catalog.operations.flatMap((operation) =>
      [...lintRoutes(operation, source), ...lintOperation(operation, source, root)].map(
        (fault) => `${operation.id}: ${fault}`,
      ),
    ),
  ];
}

function lintTables({ catalog, problems, limits, version, models }: ContractSource): readonly string[] {
  return [
    ...(catalog.catalogVersion === version
      ? []
      : [`catalogVersion ${catalog.catalogVersion} is not the release version ${version}`]),
    ...(models.has(PROBLEM_MODEL) ? [] : [`the model ${PROBLEM_MODEL} is missing`]),
    ...repeated(problems.map(({ code }) => code)).map((code) => `problem code ${code} is defined twice`),
    ...problems
      .filter(({ code, status }) => !/^[a-z]+(_[a-z]+)*$/.test(code) || status < 400 || status > 599)
      .map(({ code }) => `problem code ${code} is badly formed or has no error status`),
    ...repeated(limits.map(({ name }) => name)).map((name) => `limit ${name} is defined twice`),
    ...limits
      .filter(({ name, value }) => !/^[a-z][A-Za-z0-9]*$/.test(name) || !Number.isSafeInteger(value))
      .map(({ name }) => `limit ${name} is badly named or is no integer`),
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
