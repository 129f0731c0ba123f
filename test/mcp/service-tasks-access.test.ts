import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, createCollection, IDENTITY, type McpService, startMcpService } from './service-stage.ts';
import { bodyOf, fieldsOf, TASKS, withCapabilities } from './support.ts';

/** Who may read, update and cancel a task. */
let service: McpService;

beforeAll(async () => {
  service = await startMcpService();
  await service.start();
  await createCollection(service, 'writer', 'articles');
});

afterAll(() => service.close());

const record = (id: string) => ({ id, partitionKey: 'p', type: 'article', metadata: {}, content: {} });
const START = 'svc_records_start_batch_upsert_job_v1';
const RUN = 'svc_execution_start_run_v1';
const scope = { productId: 'papers', tenantId: 'acme' };

/** A run of an external handler: it stays queued until somebody cancels it. */
async function waitingRun(): Promise<Readonly<Record<string, unknown>>> {
  return callTool(service, 'writer', RUN, { handlerId: 'invoice.render', scope });
}

async function endless(taskId: unknown): Promise<unknown> {
  return (await service.ask('writer', 'tasks/get', { taskId })).result?.['status'];
}

describe('a task is authorized with each request', () => {
  test.each(['get', 'update', 'cancel'])('O09: tasks/%s of another caller is unknown', async (method) => {
    const { taskId } = await waitingRun();
    const params = { taskId, ...(method === 'update' ? { inputResponses: {} } : {}) };
    const unknown = { ...params, taskId: 'Z2V0RXhlY3V0aW9uUnVuIDAwMQ.xyz' };
    for (const stranger of ['neighbour', 'reader', 'runner']) {
      const answer = await service.ask(stranger, `tasks/${method}`, params);
      expect(answer.error?.code).toBe(-32602);
      expect(answer).toEqual(await service.ask(stranger, `tasks/${method}`, unknown));
    }
    expect(await endless(taskId)).toBe('working');
  });

  test('by the principal that the settings of each request prove', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-gateway-'));
    const path = join(folder, 'gateway.mjs');
    writeFileSync(path, `export default { authenticate: ({ header }) => header('x-assertion') ?? null };`);
    const gateway = await startMcpService({
      folder: service.folder,
      settings: {
        'Server:RecordAccess:AuthenticatorType': path,
        'Server:RecordAccess:AuthenticationMode': 'gateway',
        'Server:RecordAccess:IdentityPolicies:3:Principal': 'editor',
        'Server:RecordAccess:IdentityPolicies:3:Space': 'acme',
        'Server:RecordAccess:IdentityPolicies:3:ProductId': 'papers',
        'Server:RecordAccess:IdentityPolicies:3:AllowedOperations:0': 'write',
      },
    });
    // A caller who may edit records, and whose runs have another owner.
    const ask = async (method: string, params: object) => {
      const sent = { _meta: withCapabilities(TASKS), ...params };
      const headers = { ...fieldsOf(method, sent), 'X-Assertion': 'editor', [IDENTITY]: 'writer' };
      const answer = await gateway.send({ body: bodyOf(method, sent), headers });
      return answer.json<{ result?: Readonly<Record<string, unknown>>; error?: object }>();
    };
    const started = await ask('tools/call', {
      name: START,
      arguments: { collection: 'articles', records: [record('edited')] },
    });
    const taskId = started.result?.['taskId'];
    expect(started).toMatchObject({ result: { resultType: 'task' } });
    expect(await ask('tasks/get', { taskId })).toMatchObject({ result: { taskId } });
    await gateway.close();
    rmSync(folder, { recursive: true });
  });

  test('an id cannot be made from the id of a run', async () => {
    const { taskId } = await waitingRun();
    const [place = '', mac = ''] = String(taskId).split('.');
    const text = Buffer.from(place, 'base64url').toString();
    const otherRun = text.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));
    const otherOperation = text.replace('getExecutionRun', 'getExecutionRunHistory');
    for (const forged of [otherRun, otherOperation, '', 'getHealth x', 'toString x']) {
      const id = `${Buffer.from(forged).toString('base64url')}.${mac}`;
      expect((await service.ask('writer', 'tasks/get', { taskId: id })).error?.code).toBe(-32602);
    }
    for (const id of [text, place, mac, `${place}.`, `${String(taskId)}.${mac}`, 'x'.repeat(5_000)])
      expect((await service.ask('writer', 'tasks/get', { taskId: id })).error?.code).toBe(-32602);
  });

  test('a caller that loses the right loses the task', async () => {
    const { taskId } = await waitingRun();
    const stripped = await startMcpService({
      folder: service.folder,
      settings: {
        'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:1': 'start_run',
        'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:2': 'start_run',
      },
    });
    expect((await stripped.ask('writer', 'tasks/get', { taskId })).error?.code).toBe(-32602);
    await stripped.close();
  });

  test('a caller who may read a task but not cancel it gets a refusal', async () => {
    const { taskId } = await waitingRun();
    const reading = await startMcpService({
      folder: service.folder,
      settings: { 'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:2': 'start_run' },
    });
    expect((await reading.ask('writer', 'tasks/get', { taskId })).result).toMatchObject({
      status: 'working',
    });
    expect((await reading.ask('writer', 'tasks/cancel', { taskId })).error?.message).toMatch(
      /may not cancel/,
    );
    expect(await endless(taskId)).toBe('working');
    await reading.close();
  });
});
