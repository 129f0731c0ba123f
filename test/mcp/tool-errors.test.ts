import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { ToolMap } from '../../functions/mcp/service/tool-map.ts';
import { type CaseWorld, HANDLER, previewCases, scope, taskCases, toolCases } from './service-cases.ts';
import { callTool, IDENTITY, type McpService, startMcpService, withArticles } from './service-stage.ts';
import { argumentsOf } from './tool-arguments.ts';
import { argumentFaults, SENTINEL } from './tool-faults.ts';

/**
 * A model corrects its call by the text of the refusal alone. So the text names the argument that is wrong, those that are missing,
 * and the values of a closed set, in the names of the tool, and repeats nothing of the call.
 */

interface Tool {
  readonly operationId: string;
  readonly exposure: string;
  readonly map: ToolMap;
  readonly advanced?: JsonObject;
  readonly definition: { readonly name: string; readonly inputSchema: JsonObject };
}

const tools = (found.definitions as unknown as readonly Tool[]).filter(
  ({ exposure }) => exposure !== 'resource',
);

let service: McpService;
let world: CaseWorld;

beforeAll(async () => {
  service = await startMcpService({ settings: { 'Mcp:PreviewTools': 'true' } });
  await withArticles(service);
  const body = { handlerId: HANDLER, scope };
  const headers = { [IDENTITY]: 'writer' };
  const started = await service.call({ method: 'POST', path: '/execution/runs', headers, body });
  world = { runId: started.json<{ id: string }>().id };
});

afterAll(() => service.close());

function wholeSchema({ definition: { inputSchema }, advanced }: Tool): JsonObject {
  if (advanced === undefined) return inputSchema;
  return { ...inputSchema, properties: { ...(inputSchema['properties'] as JsonObject), advanced } };
}

async function refusalOf(tool: Tool, given: object): Promise<string> {
  const result = await callTool(service, 'writer', tool.definition.name, given as JsonObject);
  expect(result['isError'], JSON.stringify(given)).toBe(true);
  const [content] = result['content'] as readonly { text: string }[];
  return content?.text ?? '';
}

function validArguments({ operationId, map }: Tool): JsonObject {
  const cases = { ...toolCases(world), ...taskCases, ...previewCases };
  const own = cases[operationId];
  if (own === undefined) throw new Error(`${operationId} has no case`);
  return argumentsOf(map, own) as JsonObject;
}

test('every tool of the contract is looked at', () => {
  expect(tools).toHaveLength(17 + 12 + 4);
});

describe('the refusal of a wrong argument names it', () => {
  test.each(tools.map((tool) => [tool.definition.name, tool] as const))('%s', async (_, tool) => {
    const faults = argumentFaults(wholeSchema(tool), validArguments(tool));
    expect(faults.length).toBeGreaterThan(0);
    for (const { given, what, words } of faults) {
      const text = await refusalOf(tool, given);
      for (const each of words) expect(text, what).toContain(each);
      expect(text, what).not.toContain(SENTINEL);
    }
  });
});

/** A filter that is neither a condition nor a group, or with a part that the operation would ignore. */
const leaf = { path: '/metadata/at', op: 'gte', value: 1 };
const group = { combine: 'all', children: [leaf] };
const faultyFilters: readonly (readonly [words: string, filter: object])[] = [
  ['/filter/combine: must be added beside children, as all or any', { children: [leaf] }],
  ['/filter: must be a condition or a group: put path, op and value into children', { ...leaf, ...group }],
  ['/filter/children: must have a condition', { combine: 'all', children: [] }],
  ['/filter/children/0: must have path', { combine: 'all', children: [{}] }],
  ['/filter: must have path beside op and value', { path: '' }],
  ['/filter: must have children beside combine, or a condition without combine', { combine: 'any' }],
  [
    '/filter/children/0: must be a condition, because a group holds no groups',
    { combine: 'any', children: [group] },
  ],
];

describe('a filter without a meaning is refused', () => {
  const filtering = tools.filter(({ definition }) => JSON.stringify(definition).includes('"combine"'));
  test('by every tool with conditions', () => {
    expect(filtering.length).toBeGreaterThan(5);
    expect(filtering.filter(({ map }) => !('filter' in map.takes))).toEqual([]);
  });

  test.each(filtering.map((tool) => [tool.definition.name, tool] as const))('by %s', async (_, tool) => {
    for (const [words, filter] of faultyFilters)
      expect(await refusalOf(tool, { ...validArguments(tool), filter })).toContain(words);
  });
});

test('a range of dates on an indexed path is refused with the way out, which works', async () => {
  const body = { name: 'dated', indexedMetadata: ['/metadata/day'] };
  const headers = { [IDENTITY]: 'writer' };
  const created = await service.call({ method: 'POST', path: '/collections', headers, body });
  expect(created.status).toBeLessThan(300);
  for (;;) {
    const run = await service.call({ method: 'GET', path: created.headers['location'] ?? '', headers });
    if (run.json<{ status: string }>().status === 'succeeded') break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const day of ['2026-01-31', '2026-02-01']) {
    const record = { id: day, partitionKey: 'p', type: 'day', metadata: { day }, content: {} };
    await service.call({ method: 'POST', path: '/collections/dated/records', headers, body: record });
  }
  const query = (condition: object) =>
    callTool(service, 'writer', 'svc_records_query_v1', {
      collection: 'dated',
      filter: { path: '/metadata/day', ...condition },
    });
  const refused = await query({ op: 'gte', value: '2026-02-01' });
  expect(JSON.stringify(refused['content'])).toContain('use startsWith, such as 2026-01');
  const answered = await query({ op: 'startsWith', value: '2026-02' });
  expect(answered).toMatchObject({ structuredContent: { items: [{ id: '2026-02-01' }] } });
});

test('a call beyond the rate limit is refused with the time to wait', async () => {
  const settings = { 'Server:RecordRateLimit:PermitLimit': '1', 'Mcp:PreviewTools': 'true' };
  const narrow = await startMcpService({ settings });
  const ask = () => callTool(narrow, 'writer', 'svc_records_query_v1', { collection: 'none' });
  let refused = await ask();
  while (!JSON.stringify(refused).includes('rate_limited')) refused = await ask();
  const { retryAfterSeconds } = (
    refused['_meta'] as { 'svc.runtime/problem': { retryAfterSeconds: number } }
  )['svc.runtime/problem'];
  const [content] = refused['content'] as readonly { text: string }[];
  expect(content?.text).toContain(`Try again after ${retryAfterSeconds} s.`);
  expect(retryAfterSeconds).toBeGreaterThan(0);
  await narrow.close();
});

describe('the faults of the arguments', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: { mode: { type: 'string', enum: ['a', 'b'] }, limit: { type: 'integer', minimum: 1 } },
    required: ['mode'],
    additionalProperties: false,
  };

  test('are those of each member, and of the object', () => {
    expect(argumentFaults(schema, { mode: 'a' }).map(({ what }) => what)).toEqual([
      '/mode: another type',
      '/mode: another value',
      '/limit: another type',
      '/limit: minimum',
      ': an unknown member',
      ': no mode',
    ]);
  });
});
