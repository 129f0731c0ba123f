import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isDateTime } from './date-time.ts';
import { mapReferences, type Schema } from './generate/schema.ts';
import { readSource } from './generate/source.ts';

interface OpenApi {
  readonly info: { readonly version: string };
  readonly jsonSchemaDialect: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: object;
  };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly example?: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses: Readonly<Record<string, object>>;
  readonly 'x-svc-operation-id': string;
  readonly 'x-svc-stability': string;
}

const source = readSource(process.cwd());
const readJson = (path: string): unknown => JSON.parse(readFileSync(`contracts/generated/${path}`, 'utf8'));
const openApi = readJson('openapi/svc.json') as OpenApi;
const bundle = readJson('schemas/svc-public.schema.json') as { $defs: Readonly<Record<string, Schema>> };

describe('the contract', () => {
  it('has one release version', () => {
    expect(openApi.info.version).toBe(source.version);
    expect(source.catalog.catalogVersion).toBe(source.version);
  });
});

/** OpenAPI has no parameter that takes the rest of a path. */
const withoutPlus = (path: string): string => path.replace('+}', '}');

describe('catalog and OpenAPI', () => {
  const routes = source.catalog.operations.flatMap((operation) =>
    operation.routes.map((route) => ({ operation, route })),
  );
  const served = Object.entries(openApi.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
  );

  it('list the same routes', () => {
    const listed = routes.map(
      ({ route }) => `${route.method} ${withoutPlus(route.path)} ${route.operationId}`,
    );
    expect(served.toSorted()).toEqual(listed.toSorted());
  });

  it.each(routes)('agree on $route.operationId', ({ operation, route }) => {
    const object = openApi.paths[withoutPlus(route.path)]?.[route.method.toLowerCase()];
    expect(object?.['x-svc-operation-id']).toBe(operation.id);
    expect(object?.['x-svc-stability']).toBe(operation.stability);
    expect(object?.security).toEqual(
      source.catalog.authorizationClasses[operation.authorizationClass]?.security,
    );
    const statuses = operation.problems.map(
      (code) => source.problems.find((problem) => problem.code === code)?.status,
    );
    const expected = [...operation.responses.map(({ status }) => status), ...statuses].map(String);
    expect(Object.keys(object?.responses ?? {}).toSorted()).toEqual(
      [...new Set([...expected, 'default'])].toSorted(),
    );
    const names = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map((match) => match[1]);
    expect(
      object?.parameters?.filter((parameter) => parameter.in === 'path').map(({ name }) => name) ?? [],
    ).toEqual(names);
    const body = Object.values(object?.requestBody?.content ?? {}).flatMap(
      ({ schema }) => schema?.$ref ?? [],
    );
    const model = route.bodyFromParameters === true ? null : operation.request?.schema;
    expect(body).toEqual(model == null ? [] : [`#/components/schemas/${model}`]);
  });

  it('show a tenant to try with on every route of one, that of the example requests', () => {
    const tenants = Object.values(openApi.paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ parameters = [] }) =>
        parameters.filter((each) => each.in === 'path' && each.name === 'tenantId'),
      );
    expect(tenants.length).toBeGreaterThan(10);
    expect(new Set(tenants.map(({ example }) => example))).toEqual(new Set(['acme']));
  });

  it('share their models with the bundle', () => {
    const renamed = mapReferences(openApi.components.schemas, (reference) =>
      reference.replace('#/components/schemas/', '#/$defs/'),
    );
    expect(renamed).toEqual(bundle.$defs);
    expect(Object.keys(bundle.$defs).toSorted()).toEqual([...source.models.keys()].toSorted());
  });

  it('satisfy the linter without a warning', async () => {
    const run = promisify(execFile)(
      'node_modules/.bin/redocly',
      ['lint', '--config', 'contracts/redocly.yaml', '--format', 'json'],
      { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
    );
    const { totals } = JSON.parse((await run).stdout.replace(/^[^{]*/, '')) as { totals: object };
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
  });
});

describe('the examples', () => {
  const ajv = new Ajv2020({ strict: false });
  ajv.addFormat('date-time', { type: 'string', validate: isDateTime });
  ajv.addSchema({ ...bundle, $id: 'bundle' });

  it.each(Object.keys(bundle.$defs))('of %s fits its model', (name) => {
    const validate = ajv.getSchema(`bundle#/$defs/${name}`);
    for (const value of bundle.$defs[name]?.examples ?? [])
      expect([validate?.(value), validate?.errors]).toEqual([true, null]);
  });
});
