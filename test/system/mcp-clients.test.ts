import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolPath, toolsMissing } from '../../scripts/tools.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** Programs of others against the endpoint of the embedded server. */

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-clients-'));
const inspector = toolPath('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const START = 'svc_records_start_batch_upsert_job_v1';
const record = (id: string) => ({ id, partitionKey: 'p', type: 'article', metadata: {}, content: {} });

let server: ServerProcess;
let url: string;

beforeAll(async () => {
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, [
    'Mcp:Enabled=true',
    'Mcp:EnabledOperations:0=startRecordBatchUpsertJob',
    'Mcp:EnabledOperations:1=startExecutionRun',
  ]);
  url = `${server.address}/mcp`;
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: 'articles' });
  const created = await fetch(`${server.address}/collections`, { method: 'POST', headers, body });
  const path = created.headers.get('location') ?? '';
  for (;;) {
    const { status } = (await (await fetch(`${server.address}${path}?waitSeconds=10`)).json()) as {
      status: string;
    };
    if (status === 'succeeded') break;
  }
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the official client, pinned to the revision', () => {
  let client: Client;

  beforeAll(async () => {
    client = new Client(
      { name: 'interoperability', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  });

  afterAll(() => client.close());

  test('lists tools and resources, calls and reads', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('svc_records_query_v1');
    const answer = await client.callTool({
      name: 'svc_records_query_v1',
      arguments: { collection: 'articles' },
    });
    // The client checks the values against the schema of the tool.
    expect(answer.structuredContent).toMatchObject({ continuationToken: null });
    const { resources } = await client.listResources();
    expect(resources).toHaveLength(4);
    const { contents } = await client.readResource({ uri: 'svc://public_schema_contract/v1' });
    expect(contents).toMatchObject([{ mimeType: 'application/schema+json' }]);
  });

  test('mirrors the arguments that the schema marks, and learns of refusals', async () => {
    const answer = client.callTool({
      name: 'svc_execution_start_run_v1',
      arguments: { handlerId: 'invoice.render' },
    });
    // It declared no tasks; with a wrong mirror the code would be another one.
    await expect(answer).rejects.toMatchObject({ code: -32021 });
    await expect(client.callTool({ name: 'svc_nothing_v1', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    const missing = await client.callTool({
      name: 'svc_records_get_v1',
      arguments: { collection: 'articles', partitionKey: 'p', id: 'missing' },
    });
    expect(missing.isError).toBe(true);
  });
});

describe('the official client as it is, in an older revision', () => {
  let client: Client;

  beforeAll(async () => {
    client = new Client({ name: 'interoperability', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  });

  afterAll(() => client.close());

  test('agrees on 2025-11-25, and lists, calls and reads', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
    expect(client.getServerCapabilities()).toEqual({ tools: {}, resources: {} });
    await client.ping();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('svc_records_query_v1');
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining([START, 'svc_tasks_get_v1', 'svc_tasks_cancel_v1']),
    );
    const records = [{ id: 'a', partitionKey: 'p', type: 'article', metadata: {}, content: {} }];
    const job = await client.callTool({ name: START, arguments: { collection: 'articles', records } });
    // The client checks the values against the schema of the tool.
    expect(job).toMatchObject({ isError: false, structuredContent: { status: 'succeeded', succeeded: 1 } });
    const answer = await client.callTool({
      name: 'svc_records_query_v1',
      arguments: { collection: 'articles' },
    });
    // The client checks the values against the schema of the tool.
    expect(answer.structuredContent).toMatchObject({ continuationToken: null });
    const { contents } = await client.readResource({ uri: 'svc://health/v1' });
    expect(contents).toMatchObject([{ uri: 'svc://health/v1' }]);
  });

  test('learns of refusals by their codes', async () => {
    const code = (expected: number) => expect.objectContaining({ code: expected }) as object;
    await expect(client.callTool({ name: 'svc_nothing_v1', arguments: {} })).rejects.toEqual(code(-32602));
    expect(await client.callTool({ name: START, arguments: {} })).toMatchObject({ isError: true });
    const uri = 'svc://nothing/v1';
    await expect(client.readResource({ uri })).rejects.toMatchObject({ data: { uri } });
  });
});

describe.skipIf(toolsMissing !== undefined)('the command line of the inspector', () => {
  async function inspect(...args: readonly string[]): Promise<Record<string, unknown>> {
    const target = ['--cli', url, '--protocol-era', 'modern', '--transport', 'http'];
    const { stdout } = await run(process.execPath, [inspector, ...target, ...args], {
      env: { ...process.env, HOME: folder },
      maxBuffer: 16 * 1024 * 1024,
    });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  test('finds no error in the schemas of the tools', async () => {
    const { tools } = await inspect('--method', 'tools/list', '--strict');
    expect((tools as readonly { name: string }[]).map(({ name }) => name)).toContain(START);
  });

  test('follows a task to its end', async () => {
    const records = JSON.stringify([record('a-1'), record('a-2')]);
    const call = ['--method', 'tools/call', '--tool-name', START];
    const result = await inspect(...call, '--tool-arg', 'collection=articles', `records=${records}`);
    expect(result['structuredContent']).toMatchObject({ status: 'succeeded', succeeded: 2 });
  });

  test('reads a resource', async () => {
    const { contents } = await inspect('--method', 'resources/read', '--uri', 'svc://health/v1');
    expect(contents).toMatchObject([{ uri: 'svc://health/v1' }]);
  });
});
