import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OlderRevision } from '../../functions/mcp/revisions.ts';
import { OLDER, olderSend } from './older-support.ts';
import { IDENTITY, type McpService, startMcpService, taskOperations } from './service-stage.ts';
import { bodyOf, fieldsOf, META, messagesOf } from './support.ts';

/** The bytes of lists of tools as the wire carries them. */

let service: McpService;

beforeAll(async () => {
  service = await startMcpService();
});

afterAll(() => service.close());

async function bytesOfList(of: McpService): Promise<{ readonly bytes: number; readonly count: number }> {
  let [bytes, count] = [0, 0];
  for (let cursor: unknown; ; ) {
    const params = { _meta: META, ...(cursor === undefined ? {} : { cursor }) };
    const headers = { ...fieldsOf('tools/list', params), [IDENTITY]: 'writer' };
    const response = await of.send({ body: bodyOf('tools/list', params), headers });
    const [message] = messagesOf(response);
    const result = message?.['result'] as Readonly<Record<string, unknown>>;
    bytes += Buffer.byteLength(response.body);
    count += (result['tools'] as readonly unknown[]).length;
    cursor = result['nextCursor'];
    if (cursor === undefined) return { bytes, count };
  }
}

async function olderBytes(of: McpService, revision: OlderRevision) {
  const response = await olderSend(of.chain, revision, 'tools/list', {}, { [IDENTITY]: 'writer' });
  const { result } = response.json<{ result: { tools: readonly unknown[] } }>();
  return { bytes: Buffer.byteLength(response.body), count: result.tools.length };
}

test.each(OLDER)(
  'all tools together, and the two that go on with a task, fit 80,000 bytes in %s',
  async (revision) => {
    const { bytes, count } = await olderBytes(service, revision);
    expect(count).toBe(31);
    expect(bytes).toBeLessThanOrEqual(80_000);
  },
);

test('all tools together fit 80,000 bytes', async () => {
  const { bytes, count } = await bytesOfList(service);
  expect(count).toBe(29);
  expect(bytes).toBeLessThanOrEqual(80_000);
});

test('the tools that need no switch fit 40,000 bytes', async () => {
  // The stage enables all tasks: another id takes the place of each.
  const off = taskOperations.map((_, at) => [`Mcp:EnabledOperations:${at}`, 'searchRecords'] as const);
  const plain = await startMcpService({ settings: Object.fromEntries(off) });
  const { bytes, count } = await bytesOfList(plain);
  const lists = [{ bytes, count }, ...(await Promise.all(OLDER.map((each) => olderBytes(plain, each))))];
  for (const list of lists) {
    expect(list.count).toBe(17);
    expect(list.bytes).toBeLessThanOrEqual(40_000);
  }
  await plain.close();
});
