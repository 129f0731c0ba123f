import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  type RawClientDispatch,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** The official client of tasks against the endpoint of the embedded server. */

const DAY = 86_400_000;
const REVISION = '2026-07-28';
const clientInfo = { name: 'interoperability', version: '1.0.0' };
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-tasks-client-'));

let server: ServerProcess;
let client: Client;
let session: TaskEnabledSession;

/** The client of tasks writes the messages; this sends them with the fields that repeat their parts. */
const dispatch: RawClientDispatch = async (request, { signal } = {}) => {
  const { method, params } = request as { method: string; params: Record<string, unknown> };
  const answer = await fetch(`${server.address}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': REVISION,
      'Mcp-Method': method,
      'Mcp-Name': String(params['name'] ?? params['taskId']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal === undefined ? {} : { signal }),
  });
  const { result, error } = (await answer.json()) as Record<'result' | 'error', never>;
  const response: JsonRpcResponse =
    error === undefined ? { kind: 'result', result } : { kind: 'error', error };
  return response;
};

beforeAll(async () => {
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, [
    'Mcp:Enabled=true',
    'Mcp:EnabledOperations:0=startEmbeddingJob',
    'Mcp:EnabledOperations:1=startExecutionRun',
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=invoice.render',
  ]);
  client = new Client(clientInfo, { versionNegotiation: { mode: { pin: REVISION } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.address}/mcp`)));
  session = createTaskSessionFromClient(client, {
    endpointId: 'svc',
    rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: REVISION, clientInfo, clientCapabilities: {} },
  });
});

afterAll(async () => {
  await session.close();
  await client.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('it starts a task, polls it and reads its result', async () => {
  const execution = await session.callTool('svc_embeddings_start_job_v1', { texts: ['A report'] });
  expect(execution.kind).toBe('task');
  const { outcome, lastTask } = await execution.settle();
  expect(outcome).toMatchObject({
    status: 'completed',
    result: { isError: false, structuredContent: { status: 'succeeded', succeeded: 1 } },
  });
  expect(lastTask).toMatchObject({ status: 'completed', suggestedPollIntervalMs: 1_000 });
  expect(lastTask?.retentionMs).toBeGreaterThanOrEqual(DAY);
});

test('it cancels a task, and finds another one again by its reference', async () => {
  const start = async () => {
    const started = await session.callTool('svc_execution_start_run_v1', { handlerId: 'invoice.render' });
    if (started.kind !== 'task') throw new Error('the run is no task');
    return started;
  };
  // The client believes its own cancellation, so the service is asked.
  const statusOf = async ({ handle: { taskId } }: Awaited<ReturnType<typeof start>>) =>
    (await session.task(taskId).snapshot()).status;
  const execution = await start();
  expect(await statusOf(execution)).toBe('working');
  await execution.cancel();
  expect((await execution.result()).status).toBe('cancelled');
  expect(await statusOf(execution)).toBe('cancelled');
  const left = await start();
  const reference = left.serializeReference();
  await left.detach();
  // The call ends here, and the run goes on.
  expect((await left.result()).status).toBe('failed');
  expect(await statusOf(left)).toBe('working');
  const resumed = await session.resumeTask(reference);
  await resumed.cancel();
  expect((await resumed.result()).status).toBe('cancelled');
  expect(await statusOf(left)).toBe('cancelled');
});
