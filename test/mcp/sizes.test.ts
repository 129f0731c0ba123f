import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesOfList } from './list-bytes.ts';
import { type McpService, startMcpService, taskOperations } from './service-stage.ts';

/** The bytes of lists of tools as the wire carries them. */

let service: McpService;

beforeAll(async () => {
  service = await startMcpService();
});

afterAll(() => service.close());

test('all tools together fit 80,000 bytes', async () => {
  const { bytes, tools } = await bytesOfList(service);
  expect(tools.length).toBe(29);
  expect(bytes).toBeLessThanOrEqual(80_000);
});

test('the tools that need no switch fit 40,000 bytes', async () => {
  // The stage enables all tasks: another id takes the place of each.
  const off = taskOperations.map((_, at) => [`Mcp:EnabledOperations:${at}`, 'searchRecords'] as const);
  const plain = await startMcpService({ settings: Object.fromEntries(off) });
  const { bytes, tools } = await bytesOfList(plain);
  expect(tools.length).toBe(17);
  expect(bytes).toBeLessThanOrEqual(40_000);
  await plain.close();
});
