import { DIALECT, publishedSchemas } from './bundle.ts';
import {
  type CatalogOperation,
  type CatalogParameter,
  type CatalogResponse,
  type CatalogRoute,
  isContentType,
  isPublished,
  routeParameters,
} from './catalog.ts';
import { textNamed } from './examples.ts';
import { PROBLEM_MODEL } from './roles.ts';
import type { Json } from './schema.ts';
import type { ContractSource, ProblemSource } from './source.ts';

const COMPONENT = '#/components/schemas/';
const RESPONSE = '#/components/responses/';
const PROBLEM_MEDIA_TYPE = 'application/problem+json';

type JsonObject = { [member: string]: Json | undefined };

const SECURITY_SCHEMES = {
  SvcApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Svc-Api-Key',
    description: 'A generic API key. Cannot express the isolation of tenants.',
  },
  SvcBearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A workload identity token. Together with an API key, send it in the header `X-Serverless-Authorization`: a token alone in `Authorization` is then read as an API key.',
  },
};

/** The introduction of the reference, shown before the first operation. */
const DESCRIPTION =
  'Requests are JSON, and closed: an unknown member is refused. Every refusal is a problem document (RFC 9457) with a stable `code`; each operation lists the codes that it may return.';

/** The OpenAPI 3.1 document of every operation that is not internal, aliases included. */
export function openApiDocument(source: ContractSource): JsonObject {
  const { catalog, version, license } = source;
  const operations = catalog.operations.filter(isPublished);
  const groups = Object.entries(catalog.groups).filter(([name]) =>
    operations.some(({ group }) => group === name),
  );
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    for (const route of operation.routes) {
      const path = route.path.replace('+}', '}');
      const item = paths[path] ?? {};
      item[route.method.toLowerCase()] = routeObject(operation, route, source) as Json;
      paths[path] = item;
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version,
      summary: 'Tenant-scoped canonical store, durable execution runtime and one public contract over both.',
      description: DESCRIPTION,
      license: { name: license, identifier: license },
    },
    jsonSchemaDialect: DIALECT,
    servers: [{ url: '/', description: 'The server that returned this document.' }],
    tags: groups.map(([name, { title, description }]) => ({ name, 'x-displayName': title, description })),
    paths: paths as Json,
    components: {
      schemas: publishedSchemas(source, COMPONENT) as unknown as Json,
      responses: {
        Problem: problemResponse('Any other problem; `code` identifies it.') as Json,
        ...sharedProblems(operations, source.problems),
      },
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function routeObject(operation: CatalogOperation, route: CatalogRoute, source: ContractSource): JsonObject {
  const { request, deprecation, stability } = operation;
  // OpenAPI says the type of a body beside the body; it ignores a parameter of this name.
  const parameters = routeParameters(operation, route).filter((each) => !isContentType(each));
  const alias = route.operationId !== operation.id;
  const takesBody = request !== null && route.bodyFromParameters !== true;
  return compact({
    operationId: route.operationId,
    tags: [operation.group],
    summary: operation.summary,
    description: routeDescription(operation, alias),
    deprecated: stability === 'deprecated' ? true : undefined,
    security: source.catalog.authorizationClasses[operation.authorizationClass]?.security,
    parameters:
      parameters.length === 0
        ? undefined
        : (parameters.map((each) => parameterObject(each, operation, source)) as Json),
    requestBody: takesBody
      ? {
          required: needsBody(request.schema, source),
          content: content(
            operation.parameters.some(isContentType) ? '*/*' : request.mediaType,
            request.schema,
          ),
        }
      : undefined,
    responses: responses(operation, source.problems),
    'x-svc-operation-id': operation.id,
    // OpenAPI has no parameter that takes the rest of a path.
    'x-svc-catch-all': /\{([^{}+]*)\+\}$/.exec(route.path)?.[1],
    'x-svc-stability': stability,
    'x-svc-authorization-class': operation.authorizationClass,
    'x-svc-access-operation': operation.accessOperation,
    'x-svc-mutation': operation.mutation,
    'x-svc-completion': operation.completion,
    'x-svc-idempotency': operation.idempotency,
    'x-svc-sdk': operation.sdk,
    'x-svc-mcp': operation.mcp,
    'x-svc-header-safe-fields': operation.headerSafeFields,
    'x-svc-body-limit-bytes': takesBody ? request.bodyLimitBytes : undefined,
    'x-svc-over-limit': takesBody && request.overLimit ? { ...request.overLimit } : undefined,
    'x-svc-deprecation': deprecation ?? undefined,
  });
}

/** The server reads an empty body as `{}`: the body is optional if `{}` is a valid request. */
function needsBody(model: string | null, { models }: ContractSource): boolean {
  const schema = models.get(model ?? '')?.schema;
  return schema?.properties === undefined || (schema.required ?? []).length > 0;
}

/** The description for people, with the warnings they need before they use the operation. */
export function routeDescription(operation: CatalogOperation, alias = false): string {
  const { stability, deprecation, description, id } = operation;
  return [
    stability === 'preview' ? '**Preview**: opt-in, and may change in any release.' : '',
    deprecation === null
      ? ''
      : `**Deprecated** since ${deprecation.since}, removed in ${deprecation.removal}: use \`${deprecation.replacement}\`.`,
    description,
    alias ? `An alias of \`${id}\`.` : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function parameterObject(
  parameter: CatalogParameter,
  operation: CatalogOperation,
  source: ContractSource,
): JsonObject {
  const { in: place, name, required, prefix, schema, description } = parameter;
  return compact({
    name: prefix === true ? `${name}{key}` : name,
    in: place,
    required,
    description,
    schema: schema as Json,
    example: place === 'path' ? pathExample(name, operation, source) : undefined,
  });
}

/**
 * The first example value of this name: from the request, so that path and body agree, an answer, or the group. All groups show the
 * same tenant.
 */
function pathExample(
  name: string,
  { request, responses: answers, group }: CatalogOperation,
  { models }: ContractSource,
): string | undefined {
  const own = [request?.schema, ...answers.map(({ schema }) => schema)].map((model) =>
    models.get(model ?? ''),
  );
  const others = [...models.values()].filter(({ file }) => file === group || name === 'tenantId');
  return [...own, ...others]
    .flatMap((model) => model?.schema.examples ?? [])
    .map((example) => textNamed(example, name))
    .find((text) => text !== undefined);
}

function content(mediaType: string, model: string | null): Json {
  return { [mediaType]: model === null ? {} : { schema: { $ref: `${COMPONENT}${model}` } } };
}

function responses(
  { responses: answers, problems }: CatalogOperation,
  known: readonly ProblemSource[],
): Json {
  const byStatus: Record<string, JsonObject> = {};
  for (const answer of answers) byStatus[answer.status] = responseObject(answer);
  for (const [status, codes] of problemsByStatus(problems, known)) {
    const answer = byStatus[status];
    // Operations share the problem response of a status only if the status has no other answer.
    byStatus[status] =
      answer === undefined
        ? { $ref: `${RESPONSE}${problemsName(status, codes)}` }
        : problemStatus(codes, answer);
  }
  byStatus['default'] = { $ref: `${RESPONSE}Problem` };
  return byStatus as Json;
}

function problemsByStatus(problems: readonly string[], known: readonly ProblemSource[]) {
  const used = known.filter(({ code }) => problems.includes(code));
  return Map.groupBy(used, (problem) => problem.status);
}

/** `409.fence_conflict.idempotency_conflict`: operations that answer the same codes share the component. */
function problemsName(status: number, codes: readonly ProblemSource[]): string {
  return [status, ...codes.map(({ code }) => code)].join('.');
}

/** The problem responses that the operations refer to, by name, in the order of their names. */
function sharedProblems(
  operations: readonly CatalogOperation[],
  known: readonly ProblemSource[],
): Record<string, Json> {
  const shared = new Map<string, Json>();
  for (const { problems, responses: answers } of operations) {
    for (const [status, codes] of problemsByStatus(problems, known)) {
      if (answers.some((answer) => answer.status === status)) continue;
      shared.set(problemsName(status, codes), problemStatus(codes, undefined) as Json);
    }
  }
  return Object.fromEntries([...shared].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function responseObject({ mediaType, schema, description, headers = [] }: CatalogResponse): JsonObject {
  const named = headers.map((header) => [
    header.name.endsWith('-') ? `${header.name}{key}` : header.name,
    {
      description: header.description,
      required: header.required ?? true,
      schema: { type: 'string', maxLength: 2048 },
    },
  ]);
  return compact({
    description,
    headers: named.length === 0 ? undefined : (Object.fromEntries(named) as Json),
    content: mediaType === null ? undefined : content(mediaType, schema),
  });
}

/** All problems of one status, and the operation's own answer of that status if it has one. */
function problemStatus(codes: readonly ProblemSource[], answer: JsonObject | undefined): JsonObject {
  const description = codes.map((problem) => `\`${problem.code}\`: ${problem.description}`).join(' ');
  const problem = problemResponse(
    answer === undefined ? description : `${answer['description'] as string} ${description}`,
  );
  return compact({
    ...answer,
    ...problem,
    headers: codes.some(({ retryable, status }) => retryable && status !== 408)
      ? RETRY_AFTER
      : answer?.['headers'],
    content: {
      ...(answer?.['content'] as Record<string, Json> | undefined),
      ...(problem['content'] as Record<string, Json>),
    },
    'x-svc-problem-codes': codes.map(({ code }) => code),
  });
}

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
};

function problemResponse(description: string): JsonObject {
  return {
    description,
    content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: `${COMPONENT}${PROBLEM_MODEL}` } } },
  };
}

function compact(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
