import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { HANDLER, scope } from './service-cases.ts';
import {
  callTool,
  IDENTITY,
  type McpService,
  namesOf,
  startMcpService,
  taskOperations,
  withArticles,
} from './service-stage.ts';

/** The tools that only `Mcp:PreviewTools` offers. */

const COUNT = 'svc_records_count_v1';
const HANDLERS = 'svc_execution_list_handlers_v1';
const RUNS = 'svc_execution_list_runs_v1';
const PROVIDERS = 'svc_providers_list_v1';
const previews = [COUNT, HANDLERS, RUNS, PROVIDERS].sort();

let service: McpService;

beforeAll(async () => {
  service = await startMcpService({ settings: { 'Mcp:PreviewTools': 'true' } });
  await withArticles(service);
});

afterAll(() => service.close());

/** The names beyond those that the caller has without previews. */
async function previewsOf(of: McpService, principal: string): Promise<readonly string[]> {
  return (await namesOf(of, principal)).filter((name) => previews.includes(name));
}

function problemOf(result: Readonly<Record<string, unknown>>): unknown {
  return (result['_meta'] as Readonly<Record<string, unknown>>)['svc.runtime/problem'];
}

describe('previews', () => {
  test('are all that the contract has, read only, and say in their words that they may change', () => {
    const all = found.definitions.filter(({ exposure }) => exposure === 'preview');
    expect(all.map(({ definition: { name } }) => name).sort()).toEqual(previews);
    for (const { definition } of all)
      expect(definition).toMatchObject({
        description: expect.stringMatching(/^Preview, may change\. /) as string,
        annotations: { readOnlyHint: true },
        _meta: { 'svc.runtime/stability': 'preview' },
      });
  });

  test('are neither listed nor called without the setting', async () => {
    const plain = await startMcpService({ folder: service.folder });
    expect(await previewsOf(plain, 'writer')).toEqual([]);
    const unknown = await plain.ask('writer', 'tools/call', {
      name: 'svc_records_nothing_v1',
      arguments: {},
    });
    expect(unknown.error?.code).toBe(-32602);
    for (const name of previews)
      expect(await plain.ask('writer', 'tools/call', { name, arguments: {} }), name).toEqual(unknown);
    await plain.close();
  });

  test('cannot be named among the operations that are on: the service does not start', async () => {
    const settings = { 'Mcp:EnabledOperations:0': 'listProviders' };
    await expect(startMcpService({ settings })).rejects.toThrow('Mcp:PreviewTools');
  });

  test('are listed with it to those whose policies allow them', async () => {
    expect(await previewsOf(service, 'writer')).toEqual(previews);
    expect(await previewsOf(service, 'reader')).toEqual([COUNT]);
    expect(await previewsOf(service, 'runner')).toEqual([RUNS]);
    const hidden = await service.ask('reader', 'tools/call', { name: RUNS, arguments: {} });
    expect(hidden.error?.code).toBe(-32602);
    expect((await namesOf(service, 'writer')).length).toBe(17 + taskOperations.length + previews.length);
  });

  test('can be taken away one by one', async () => {
    const settings = { 'Mcp:PreviewTools': 'true', 'Mcp:DisabledOperations:0': 'listProviders' };
    const fewer = await startMcpService({ folder: service.folder, settings });
    expect(await previewsOf(fewer, 'writer')).toEqual(previews.filter((name) => name !== PROVIDERS));
    await fewer.close();
  });
});

describe('the preview of', () => {
  test('counting counts the records that meet a condition', async () => {
    const count = (given: object) => callTool(service, 'reader', COUNT, { collection: 'articles', ...given });
    const all = { collection: 'articles', recordCount: 3, truncated: false, continuationToken: null };
    expect((await count({}))['structuredContent']).toEqual(all);
    const filter = { path: '/metadata/at', op: 'gte', value: 1 };
    expect(await count({ filter })).toMatchObject({ structuredContent: { recordCount: 2 } });
    expect(await count({ partitionKeys: ['q'] })).toMatchObject({ structuredContent: { recordCount: 0 } });
    // Another space has a collection of its own.
    const foreign = await callTool(service, 'neighbour', COUNT, { collection: 'articles' });
    expect(problemOf(foreign)).toMatchObject({ code: 'collection_not_found' });
  });

  test('handlers lists those that the caller may start', async () => {
    const { structuredContent } = await callTool(service, 'writer', HANDLERS, scope);
    const { handlers } = structuredContent as { handlers: readonly { handlerId: string }[] };
    const query = new URLSearchParams(scope).toString();
    const path = `/execution/runtime/effective?${query}`;
    const rest = await service.call({ method: 'GET', path, headers: { [IDENTITY]: 'writer' } });
    const expected = rest.json<{ handlers: readonly { handlerId: string }[] }>();
    expect(handlers.map(({ handlerId }) => handlerId)).toEqual(
      expected.handlers.map(({ handlerId }) => handlerId),
    );
  });

  test('runs lists the newest first, page by page', async () => {
    const start = (number: number) =>
      service.call({
        method: 'POST',
        path: '/execution/runs',
        headers: { [IDENTITY]: 'writer' },
        body: { handlerId: HANDLER, scope, payload: { number } },
      });
    const ids: string[] = [];
    for (const number of [1, 2, 3]) ids.unshift((await start(number)).json<{ id: string }>().id);
    const list = async (more: object) => {
      const result = await callTool(service, 'writer', RUNS, { handlerId: HANDLER, ...more });
      const { items } = result['structuredContent'] as { items: readonly { id: string }[] };
      const meta = result['_meta'] as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
      return { ids: items.map(({ id }) => id), next: meta['svc.runtime/nextPage'], items };
    };
    const first = await list({ limit: 2 });
    expect(first.ids).toEqual(ids.slice(0, 2));
    expect(Object.keys(first.next ?? {})).toEqual(['handlerId', 'limit', 'continuationToken']);
    const rest = await list(first.next ?? {});
    expect([rest.ids, rest.next]).toEqual([ids.slice(2), undefined]);
    expect(first.items[0]).not.toHaveProperty('payload');
    expect((await list({ include: ['payload'], limit: 1 })).items[0]).toMatchObject({
      payload: { number: 3 },
    });
    expect((await list({ status: 'failed' })).ids).toEqual([]);
  });

  test('providers lists them with their capabilities', async () => {
    const { structuredContent } = await callTool(service, 'writer', PROVIDERS);
    const { items } = structuredContent as { items: readonly { id: string; capabilities: unknown }[] };
    const chat = items.find(({ id }) => id === 'local-deterministic-ai');
    expect(chat?.capabilities).toContain('ai.chat');
  });
});
