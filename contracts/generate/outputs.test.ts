import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Validator } from '../validator.ts';
import { drift, write } from './disk.ts';
import { openApiDocument } from './emit-openapi.ts';
import { ContractFaults } from './faults.ts';
import { fixtureSource } from './fixture.ts';
import { generate } from './outputs.ts';
import type { Json } from './schema.ts';
import { lintSource, readSource } from './source.ts';
import { sourceFiles } from './source-files.fixture.ts';

const run = promisify(execFile);
const root = process.cwd();
const fixture = fixtureSource(JSON.parse(readFileSync('contracts/catalog.schema.json', 'utf8')) as Json);
const folder = mkdtempSync(join(tmpdir(), 'contract-'));
const at = (path: string) => join(folder, path);
let outputs: ReadonlyMap<string, string>;
const output = (path: string): string => outputs.get(path) ?? '';

beforeAll(async () => {
  outputs = await generate(fixture);
  write(folder, outputs);
  for (const file of ['operation.ts', 'validator.ts']) cpSync(`contracts/${file}`, at(`contracts/${file}`));
  const runtime = 'sdk/typescript/src';
  for (const file of readdirSync(runtime).filter((name) => name.endsWith('.ts')))
    cpSync(join(runtime, file), at(join(runtime, file)));
  writeFileSync(at('package.json'), '{"type":"module"}');
  symlinkSync(join(root, 'node_modules'), at('node_modules'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the generated files of a test contract', () => {
  it('compiles, and its types say what the catalog says', async () => {
    writeFileSync(
      at('use.ts'),
      `import { operations, type GroupOperations, type Group, type OperationId, type OperationTypes } from './contracts/generated/operations.ts';
import type { ParcelQuery, Parcel } from './contracts/generated/models.ts';
import { problems, type ProblemCode } from './contracts/generated/errors.ts';
import { limits } from './contracts/generated/limits.ts';
import { loadValidators } from './contracts/generated/validators/load.ts';
import { type ListParcelsParameters, type FilePart, SvcClient } from './sdk/typescript/src/index.ts';
import type * as Client from './sdk/typescript/src/index.ts';
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => {};
same<Group, 'depots' | 'empty'>(true);
same<GroupOperations['empty'], never>(true);
same<OperationId, 'listParcels' | 'findParcel' | 'ingestParcel' | 'putBytes' | 'peek'>(true);
same<OperationTypes['listParcels']['params'], { readonly depotId: string }>(true);
same<OperationTypes['listParcels']['query'], { readonly limit?: number; readonly after: string; readonly [name: \`tag.\${string}\`]: string; readonly order?: 'up' | 'down' }>(true);
same<OperationTypes['ingestParcel']['response'], { readonly status: 202; readonly body: Parcel; readonly headers: { readonly Location: string; readonly 'Depot-Hint'?: string } } | { readonly status: 204; readonly body: null; readonly headers?: { readonly 'Depot-Hint'?: string } } | { readonly status: 503; readonly body: Parcel }>(true);
same<OperationTypes['putBytes']['body'], AsyncIterable<Uint8Array>>(true);
same<OperationTypes['ingestParcel']['body']['artifact'], AsyncIterable<Uint8Array>>(true);
same<OperationTypes['peek']['body'], null>(true);
same<ProblemCode, 'validation_failed' | 'not_found' | 'store_contention'>(true);
const query: ParcelQuery = { id: 'a', 'strange-name': "it's", tags: { a: 'b' }, limit: null };
const parcel = (p: Parcel): number => (p.kind === 'box' ? p.width : p.length);
same<ListParcelsParameters, { readonly limit?: number | undefined; readonly after: string; readonly tag?: { readonly [name: string]: string } | undefined; readonly order?: 'up' | 'down' | undefined }>(true);
same<Client.ParcelManifest, { readonly manifest: Client.ParcelQuery; readonly artifact: FilePart }>(true);
same<Awaited<ReturnType<SvcClient['ingestParcel']>>, Client.Parcel | null>(true);
same<Awaited<ReturnType<SvcClient['putBytes']>>, ReadableStream<Uint8Array>>(true);
same<Exclude<keyof SvcClient, 'getCanonicalDocument' | 'getExecutionRun' | 'getRecordImportJob' | 'getEmbeddingJob' | 'getGraphJob' | 'getRagIngestionJob' | 'getProviderJob' | 'getRetrievalEvaluationJob'>, 'listParcels' | 'findParcel' | 'ingestParcel' | 'putBytes' | 'baseUrl' | 'withOptions' | 'findCanonicalDocument' | 'waitForExecutionRun' | 'waitForRecordImportJob' | 'waitForEmbeddingJob' | 'waitForGraphJob' | 'waitForRagIngestionJob' | 'waitForProviderJob' | 'waitForRetrievalEvaluationJob' | 'toJSON'>(true);
// The methods of the runtime that need operations of the published contract, which the fixture lacks.
declare module './sdk/typescript/src/generated/models.ts' {
  export interface CanonicalDocument { readonly revision: number }
  export interface CanonicalDocumentReadRequest { readonly id: string }
  export interface ExecutionRun { readonly completedAtUtc: string | null }
  export interface RecordImportJob { readonly status: string }
  export interface EmbeddingJob { readonly status: string }
  export interface GraphJob { readonly status: string }
  export interface RagIngestionJob { readonly status: string }
  export interface ProviderRunJob { readonly status: string }
  export interface RetrievalEvaluationJob { readonly status: string }
}
declare module './sdk/typescript/src/generated/client.ts' {
  interface Operations {
    getCanonicalDocument(tenantId: string, request: Client.CanonicalDocumentReadRequest, options: object): Promise<Client.CanonicalDocument>;
    getExecutionRun(runId: string, parameters: { readonly waitSeconds: number }, options: object): Promise<Client.ExecutionRun>;
    getRecordImportJob(jobId: string, options: object): Promise<Client.RecordImportJob | null>;
    getEmbeddingJob(jobId: string, options: object): Promise<Client.EmbeddingJob | null>;
    getGraphJob(jobId: string, options: object): Promise<Client.GraphJob | null>;
    getRagIngestionJob(jobId: string, options: object): Promise<Client.RagIngestionJob | null>;
    getProviderJob(jobId: string, options: object): Promise<Client.ProviderRunJob | null>;
    getRetrievalEvaluationJob(jobId: string, options: object): Promise<Client.RetrievalEvaluationJob | null>;
  }
}
export const used = [query, parcel, operations.peek.routes, problems.not_found.status, limits.parcelsMax, loadValidators];
`,
    );
    const options = {
      ...(JSON.parse(readFileSync('tsconfig.json', 'utf8')) as object),
      include: ['.'],
      exclude: ['functions'],
    };
    writeFileSync(at('tsconfig.json'), JSON.stringify(options));
    const result = await run('node_modules/.bin/tsc', ['--noEmit', '-p', folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(result.stdout).toBe('');
  });

  it('marks preview, deprecated and internal operations everywhere', () => {
    const types = output('contracts/generated/operations/depots.ts');
    expect(types).toContain('@deprecated since 9.0.0, removed in 10.0.0: use listParcels.');
    expect(types).toContain('@beta');
    expect(output('contracts/generated/models.ts')).toContain('@deprecated');
    const openApi = JSON.parse(output('contracts/generated/openapi/svc.json')) as {
      paths: Record<string, Record<string, Record<string, unknown>>>;
      tags: { name: string }[];
      components: { schemas: object };
    };
    expect(openApi.paths['/depots/{depotId}/find']?.['post']).toMatchObject({
      deprecated: true,
      'x-svc-stability': 'deprecated',
    });
    expect(openApi.paths['/depots/{depotId}/parcels/{id}']?.['get']).toMatchObject({ deprecated: true });
    expect(openApi.paths['/parcels']?.['post']).toMatchObject({ 'x-svc-stability': 'preview' });
    expect(openApi.paths['/parcels']?.['post']?.['description']).toContain('**Preview**');
    expect(openApi.paths['/peek']).toBeUndefined();
    expect(Object.keys(openApi.components.schemas)).not.toContain('SecretAnswer');
    expect(openApi.tags.map(({ name }) => name)).toEqual(['depots']);
    const page = output('docs/reference/operations.md');
    expect(page).toMatch(/### ingestParcel\n\n.*\*\*Preview\*\*/);
    expect(page).toContain('**Deprecated** since 9.0.0');
    expect(page).not.toContain('peek');
  });

  it('marks a member that is preview in types and in the document', () => {
    expect(output('contracts/generated/models.ts')).toContain('Preview: any release may change it. Width.');
    const { components } = JSON.parse(output('contracts/generated/openapi/svc.json')) as {
      components: { schemas: { BoxParcel: { properties: object } } };
    };
    expect(components.schemas.BoxParcel.properties).toMatchObject({ width: { 'x-svc-preview': true } });
  });

  it('gives path parameters the example that the models have for them', () => {
    const { paths } = JSON.parse(output('contracts/generated/openapi/svc.json')) as {
      paths: Record<string, Record<string, { parameters: { name: string; example?: string }[] }>>;
    };
    const parameters = paths['/depots/{depotId}/parcels/{id}']?.['get']?.parameters ?? [];
    expect(parameters.find(({ name }) => name === 'id')?.example, 'of its request').toBe('a');
    expect(
      parameters.find(({ name }) => name === 'depotId'),
      'of none',
    ).not.toHaveProperty('example');
    expect(
      parameters.find(({ name }) => name === 'limit'),
      'of a query',
    ).not.toHaveProperty('example');
  });

  it('gives the tenant of a path the example of another group', () => {
    const [operation] = fixture.catalog.operations;
    const tenant = {
      in: 'path',
      name: 'tenantId',
      required: true,
      schema: { type: 'string', maxLength: 20 },
      description: 'The tenant.',
    } as const;
    const route = { operationId: 'listParcels', method: 'GET', path: '/depots/{tenantId}' } as const;
    const model = [...fixture.models.values()][0];
    if (operation === undefined || model === undefined) throw new Error('the fixture has both');
    const owner = { ...model, file: 'owners', schema: { ...model.schema, examples: [{ tenantId: 'acme' }] } };
    const changed = {
      ...fixture,
      catalog: { ...fixture.catalog, operations: [{ ...operation, routes: [route], parameters: [tenant] }] },
      models: new Map([...fixture.models, ['Owner', owner]]),
    };
    const text = JSON.stringify(openApiDocument(changed));
    expect(text).toContain('"example":"acme"');
  });

  it('describes bodies of parts and bytes, statuses and headers', () => {
    const { paths } = JSON.parse(output('contracts/generated/openapi/svc.json')) as {
      paths: Record<
        string,
        Record<
          string,
          {
            requestBody: { content: object };
            responses: Record<string, { content?: object; headers?: object }>;
          }
        >
      >;
    };
    const ingest = paths['/parcels']?.['post'];
    expect(Object.keys(ingest?.requestBody.content ?? {})).toEqual(['multipart/form-data']);
    expect(Object.keys(ingest?.responses ?? {})).toEqual(['202', '204', '404', '503', 'default']);
    expect(Object.keys(ingest?.responses['202']?.headers ?? {})).toEqual(['Location', 'Depot-Hint']);
    expect(ingest?.responses['202']?.headers).toMatchObject({
      Location: { required: true },
      'Depot-Hint': { required: false },
    });
    expect(ingest?.responses['204']?.content).toBeUndefined();
    expect(Object.keys(ingest?.responses['503']?.content ?? {})).toEqual([
      'application/json',
      'application/problem+json',
    ]);
    expect(paths['/bytes']?.['put']?.requestBody.content).toEqual({ 'application/octet-stream': {} });
  });

  it('feeds an alias from its parameters, but the body members only', () => {
    const table = output('contracts/generated/operations/depots.ts');
    expect(table).toMatch(
      /operationId: 'getParcel',[^]*?bodyFromParameters: true,\s+bodyMembers: \['id', 'limit'\]/,
    );
  });

  it('validates', async () => {
    const url = pathToFileURL(at('contracts/generated/validators/depots.js')).href;
    const { requestValidators, responseValidators } = (await import(url)) as Record<
      string,
      Record<string, Validator>
    >;
    expect(Object.keys(requestValidators ?? {})).toEqual(['findParcel', 'ingestParcel']);
    expect(Object.keys(responseValidators ?? {})).toEqual([
      'listParcels:200',
      'findParcel:200',
      'ingestParcel:202',
      'ingestParcel:503',
      'peek:200',
    ]);
    const parcel = responseValidators?.['listParcels:200'];
    expect(parcel?.({ kind: 'box', width: 2, more: true })).toBe(true);
    expect(parcel?.({ kind: 'tube', width: 2 })).toBe(false);
    expect(parcel?.errors?.[0]).toMatchObject({ keyword: 'required', params: { missingProperty: 'length' } });
    expect(parcel?.({ kind: 'bag' })).toBe(false);
    expect(parcel?.errors?.[0]?.keyword).toBe('discriminator');
    expect(requestValidators?.['findParcel']?.({ id: 'a', 'strange-name': null })).toBe(true);
    expect(requestValidators?.['findParcel']?.({ id: 'A' })).toBe(false);
  });

  it('satisfies the linter', async () => {
    mkdirSync(dirname(at('contracts/redocly.yaml')), { recursive: true });
    cpSync('contracts/redocly.yaml', at('contracts/redocly.yaml'));
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const options = ['lint', '--config', at('contracts/redocly.yaml'), '--format', 'json'];
    const { stdout } = await run('node_modules/.bin/redocly', options, { env }).catch(
      (error: { stdout: string }) => error,
    );
    const report = JSON.parse(stdout.replace(/^[^{]*/, '')) as { problems: object[] };
    expect(report.problems).toEqual([]);
  });
});

describe('the drift check', () => {
  it('finds no drift after a write, and every run writes the same', async () => {
    expect(drift(folder, await generate(fixture))).toEqual([]);
    expect(write(folder, outputs)).toEqual([]);
  });

  it('finds a changed, a missing and a stray file, and writing mends all three', () => {
    appendFileSync(at('contracts/generated/models.ts'), '\n');
    rmSync(at('docs/reference/errors.md'));
    writeFileSync(at('contracts/generated/validators/stray.js'), '');
    const found = [
      'contracts/generated/models.ts',
      'contracts/generated/validators/stray.js',
      'docs/reference/errors.md',
    ];
    expect(drift(folder, outputs)).toEqual(found);
    expect(write(folder, outputs)).toEqual(found);
    expect(drift(folder, outputs)).toEqual([]);
  });

  it('finds a change of the source', async () => {
    const [limit] = fixture.limits;
    if (limit === undefined) throw new Error('the fixture is empty');
    const changed = await generate({ ...fixture, limits: [{ ...limit, value: 2000 }] });
    expect(drift(folder, changed)).toEqual(['contracts/generated/limits.ts', 'docs/reference/limits.md']);
  });

  it('fails as a command, naming the file, and changes nothing', async () => {
    const copy = at('source');
    const sourceSchema = JSON.parse(readFileSync('contracts/source.schema.json', 'utf8')) as object;
    for (const [path, value] of sourceFiles(fixture, sourceSchema)) {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      writeFileSync(join(copy, path), JSON.stringify(value));
    }
    const options = ['--only', 'contract', '--root', copy, '--check'];
    const check = () =>
      run('node_modules/.bin/node', ['scripts/generate.ts', ...options]).then(
        () => ({ code: 0, stderr: '' }),
        (error: { code: number; stderr: string }) => error,
      );
    expect(lintSource(copy)).toEqual([]);
    expect(readSource(copy).catalog).toEqual(fixture.catalog);
    write(copy, await generate(readSource(copy), copy));
    expect(await check()).toEqual({ code: 0, stderr: '' });
    const file = join(copy, 'contracts/generated/errors.ts');
    appendFileSync(file, '// planted\n');
    expect(await check()).toMatchObject({
      code: 1,
      stderr: 'contracts/generated/errors.ts differs from the output of npm run generate\n',
    });
    expect(readFileSync(file, 'utf8')).toContain('// planted');
  });
});

describe('an unsound contract', () => {
  it('generates nothing', async () => {
    await expect(generate({ ...fixture, version: '1.0.0' })).rejects.toBeInstanceOf(ContractFaults);
    await expect(
      generate({ ...fixture, models: new Map([...fixture.models].filter(([name]) => name !== 'Parcel')) }),
    ).rejects.toThrow('unknown model Parcel');
  });
});
