import {
  bodyMembers,
  type CatalogOperation,
  type CatalogRoute,
  canonicalRoute,
  pathNames,
  routeParameters,
} from './catalog.ts';
import { lintPattern } from './profile-lint.ts';
import type { ContractSource } from './source.ts';

/** Faults of an operation's routes and parameters, as sentences. */
export function lintRoutes(operation: CatalogOperation, source: ContractSource): readonly string[] {
  const canonical = canonicalRoute(operation);
  const faults =
    canonical.operationId === operation.id ? [] : ['the canonical route must carry the id of the operation'];
  if (canonical.bodyFromParameters === true)
    faults.push('the canonical route must not have bodyFromParameters');
  for (const route of operation.routes) faults.push(...lintRoute(operation, route, source));
  const canonicalNames = pathNames(canonical.path);
  for (const alias of operation.routes.slice(1)) {
    const lacking = canonicalNames.filter((name) => !pathNames(alias.path).includes(name));
    if (lacking.length > 0)
      faults.push(`alias ${alias.operationId} lacks the path parameters ${lacking.join(', ')}`);
    if (alias.bodyFromParameters !== true && alias.method === 'GET' && operation.request !== null) {
      faults.push(
        `alias ${alias.operationId} is a GET of an operation with a body, so it needs bodyFromParameters`,
      );
    }
  }
  const named = new Set(operation.routes.flatMap((route) => pathNames(route.path)));
  for (const { name, in: place } of operation.parameters) {
    if (place === 'path' && !named.has(name)) faults.push(`path parameter ${name} is not in any route`);
  }
  return faults;
}

function lintRoute(
  operation: CatalogOperation,
  route: CatalogRoute,
  { models }: ContractSource,
): readonly string[] {
  const faults: string[] = [];
  const parameters = routeParameters(operation, route);
  const declared = new Set(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name));
  for (const name of pathNames(route.path)) {
    if (!declared.has(name)) faults.push(`path parameter ${name} of ${route.path} is not declared`);
  }
  for (const name of repeated(
    parameters.map((parameter) => `${parameter.in}:${parameter.name.toLowerCase()}`),
  )) {
    faults.push(`parameter ${name} of ${route.operationId} is declared twice`);
  }
  for (const name of (route.parameters ?? []).filter((own) => own.in === 'path').map((own) => own.name)) {
    if (!pathNames(route.path).includes(name)) faults.push(`path parameter ${name} is not in ${route.path}`);
  }
  for (const { in: place, name, required, prefix, schema } of parameters) {
    if (place === 'path' && !required) faults.push(`path parameter ${name} must be required`);
    if (prefix === true && (place === 'path' || required))
      faults.push(`parameter ${name}: only an optional query parameter or header may be a prefix`);
    if (prefix === true && !name.endsWith(place === 'header' ? '-' : '.'))
      faults.push(`parameter ${name}: a prefix ends with a dot, that of a header with a hyphen`);
    if (schema.pattern !== undefined) {
      faults.push(...lintPattern(schema.pattern).map((fault) => `parameter ${name} ${fault}`));
      if (!fits(schema.pattern, schema.examples?.[0]))
        faults.push(`parameter ${name} has a pattern, so it needs an example that matches it`);
    }
    if (schema.type === 'string' && schema.maxLength === undefined && schema.enum === undefined) {
      faults.push(`parameter ${name} needs a maxLength`);
    }
  }
  if (route.bodyFromParameters !== true) return faults;
  const model = models.get(operation.request?.schema ?? '');
  const names = bodyMembers(operation, route, model?.schema);
  const canonical = pathNames(canonicalRoute(operation).path);
  const strange = parameters
    .filter(({ in: place, name }) => place !== 'header' && !names.includes(name) && !canonical.includes(name))
    .map(({ name }) => name);
  const lacking = (model?.schema.required ?? []).filter((name) => !names.includes(name));
  if (strange.length > 0)
    faults.push(
      `${route.operationId}: parameters that are not members of the request: ${strange.join(', ')}`,
    );
  if (lacking.length > 0)
    faults.push(`${route.operationId}: required members without a parameter: ${lacking.join(', ')}`);
  return faults;
}

function fits(pattern: string, example: unknown): boolean {
  return typeof example === 'string' && new RegExp(pattern, 'u').test(example);
}

/** The names that occur more than once. */
export function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
