import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Catalog,
  type CatalogOperation,
  canonicalRoute,
  idempotencyHeaders,
  isToolExposure,
  routeParameters,
} from './catalog.ts';
import { repeated } from './route-lint.ts';
import { referenceName } from './schema.ts';
import type { ContractSource } from './source.ts';

/** Names that must never be in a header: secrets, and ids of documents or people. */
const HEADER_UNSAFE = /token|secret|password|apikey|key$|prompt|text|query|^id$|documentid|eventid|objectid/i;

/** Names that a deployment configures: few, and no secrets. */
const CONFIGURED: ReadonlySet<string> = new Set(['handlerId', 'pluginId', 'productId']);

/** Faults of one operation except its routes, as sentences. Without `root` it does not check evidence files. */
export function lintOperation(
  operation: CatalogOperation,
  source: ContractSource,
  root?: string,
): readonly string[] {
  return [
    ...lintReferences(operation, source),
    ...lintClasses(operation, source.catalog),
    ...lintStability(operation, source.catalog),
    ...lintIdempotency(operation, source),
    ...lintNames(operation, source.catalog),
    ...lintHeaderSafety(operation, source),
    ...lintEvidence(operation, root),
  ];
}

function lintReferences(
  operation: CatalogOperation,
  { models, problems }: ContractSource,
): readonly string[] {
  const { request, responses } = operation;
  const codes = new Set(problems.map(({ code }) => code));
  const faults = [request?.schema, ...responses.map(({ schema }) => schema)]
    .filter((name) => typeof name === 'string' && !models.has(name))
    .map((name) => `unknown model ${name}`);
  const over = request?.overLimit?.problem;
  if (over !== undefined && !operation.problems.includes(over)) {
    faults.push(`the operation refuses a larger body with ${over}, but its problems do not list that code`);
  }
  for (const code of operation.problems) if (!codes.has(code)) faults.push(`unknown problem code ${code}`);
  const statuses = responses.map((response) => String(response.status));
  faults.push(...repeated(statuses).map((status) => `status ${status} is listed twice`));
  for (const { status, schema, mediaType } of responses) {
    if (mediaType === null && schema !== null) faults.push(`status ${status} has a model but no media type`);
    if (mediaType !== null && schema === null && mediaType.includes('json'))
      faults.push(`status ${status} is JSON without a model`);
  }
  if (request !== null && canonicalRoute(operation).method === 'GET')
    faults.push('a GET must not have a body');
  if (request !== null && (request.schema === null) !== (request.mediaType === 'application/octet-stream')) {
    faults.push('a body needs a model, except application/octet-stream');
  }
  return faults;
}

function lintClasses(operation: CatalogOperation, { authorizationClasses }: Catalog): readonly string[] {
  const faults: string[] = [];
  const known = authorizationClasses[operation.authorizationClass];
  if (known === undefined) return [`unknown authorization class ${operation.authorizationClass}`];
  const { accessOperations } = known;
  const { accessOperation, mutation, completion } = operation;
  if (accessOperations.length === 0 && accessOperation !== null)
    faults.push('its authorization class has no access operations');
  if (accessOperations.length > 0 && !accessOperations.includes(accessOperation ?? '')) {
    faults.push(`its access operation must be one of ${accessOperations.join(', ')}`);
  }
  if ((mutation === 'read') !== (completion === 'non-mutating'))
    faults.push('completion must be non-mutating for a read, and only for a read');
  return faults;
}

function lintStability(operation: CatalogOperation, { operations }: Catalog): readonly string[] {
  const { stability, deprecation, mcp, sdk, id } = operation;
  const faults: string[] = [];
  if ((stability === 'deprecated') !== (deprecation !== null))
    faults.push('a deprecated operation needs a deprecation; other operations must not have one');
  const replacement = operations.find((other) => other.id === deprecation?.replacement);
  if (
    deprecation !== null &&
    (replacement === undefined || replacement.id === id || replacement.stability === 'deprecated')
  ) {
    faults.push('its replacement must be another operation that is not deprecated');
  }
  if (stability === 'preview' && mcp.defaultEnabled)
    faults.push('a preview operation is opt-in, so MCP must not enable it by default');
  if (stability === 'internal' && mcp.exposure !== 'none')
    faults.push('MCP must not expose an internal operation');
  if ((stability === 'internal') !== (sdk === null))
    faults.push('an operation needs SDK names, unless it is internal');
  return faults;
}

function lintIdempotency(operation: CatalogOperation, { models }: ContractSource): readonly string[] {
  const { requirement, location } = operation.idempotency;
  const faults: string[] = [];
  const takesKey = requirement === 'required' || requirement === 'supported';
  if (takesKey !== (location !== null))
    faults.push(
      'an operation with an idempotency key needs its location; other operations must not have one',
    );
  if ((operation.mutation === 'read') !== (requirement === 'not-applicable')) {
    faults.push('idempotency must be not-applicable for a read, and only for a read');
  }
  for (const header of idempotencyHeaders(location)) {
    const declared = operation.parameters.some(
      ({ in: place, name }) => place === 'header' && name === header,
    );
    if (!declared) faults.push(`the idempotency header ${header} is not declared`);
  }
  if (location?.pointer !== undefined) {
    const name = location.pointer.slice(1);
    const schema = models.get(operation.request?.schema ?? '')?.schema;
    if (schema?.properties?.[name] === undefined)
      faults.push(`the idempotency key ${location.pointer} is not a member of the request`);
    const required = schema?.required?.includes(name) === true;
    if (location.in === 'body' && requirement === 'required' && !required)
      faults.push(`${location.pointer} must be required`);
    if (location.in === 'header' && required)
      faults.push(`${location.pointer} must be optional, because the header carries the same key`);
  }
  return faults;
}

function lintNames(operation: CatalogOperation, { operations }: Catalog): readonly string[] {
  const { sdk, mcp } = operation;
  const faults: string[] = [];
  // `openapi_contract` and `openApiContract` agree: languages split acronyms differently.
  if (sdk !== null && sdk.python.replaceAll('_', '') !== sdk.typescript.toLowerCase()) {
    faults.push(`SDK names ${sdk.python} and ${sdk.typescript} disagree`);
  }
  const named = isToolExposure(mcp.exposure);
  if (named !== (mcp.name !== null))
    faults.push('a tool or task needs an MCP name; other exposures must not have one');
  if (mcp.exposure === 'preview' && mcp.defaultEnabled)
    faults.push('a preview of MCP must not be enabled by default');
  if ((mcp.exposure === 'resource') !== (mcp.uri !== null))
    faults.push('a resource needs an MCP uri; other exposures must not have one');
  if (mcp.exposure === 'none' && mcp.defaultEnabled)
    faults.push('an operation without MCP exposure cannot be enabled');
  // A preview may show a part of its operation that a model looks for in another group.
  const groups = mcp.exposure === 'preview' ? operations.map(({ group }) => group) : [operation.group];
  if (named && !groups.some((group) => mcp.name?.startsWith(`svc_${group}_`) !== false))
    faults.push(`its MCP name must start with svc_${operation.group}_`);
  return faults;
}

/** Proxies log and cache by headers, so a field may be in one only if the contract or the deployment fixes its values. */
function lintHeaderSafety(operation: CatalogOperation, { models }: ContractSource): readonly string[] {
  const fields = new Map(
    operation.routes
      .flatMap((route) => routeParameters(operation, route))
      .map(({ name, schema }) => [name, schema] as const),
  );
  const members = models.get(operation.request?.schema ?? '')?.schema.properties ?? {};
  for (const [name, schema] of Object.entries(members)) fields.set(name, schema);
  return operation.headerSafeFields.flatMap((field) => {
    if (HEADER_UNSAFE.test(field)) return [`${field} must not be in a header`];
    const schema = fields.get(field);
    if (schema === undefined) return [`header-safe field ${field} is neither a parameter nor a member`];
    const { enum: values } = models.get(referenceName(schema) ?? '')?.schema ?? schema;
    return values !== undefined || CONFIGURED.has(field)
      ? []
      : [`header-safe field ${field} may hold any value`];
  });
}

function lintEvidence(
  { evidence, stability }: CatalogOperation,
  root: string | undefined,
): readonly string[] {
  if (root === undefined) return [];
  const owed = stability === 'public' ? (['fixtures', 'tests'] as const) : [];
  const none = owed.filter((kind) => evidence[kind].length === 0);
  const missing = [...evidence.fixtures, ...evidence.tests].filter((path) => !existsSync(join(root, path)));
  return [
    ...none.map((kind) => `a public operation needs ${kind} as evidence`),
    ...missing.map((path) => `evidence ${path} does not exist`),
  ];
}
