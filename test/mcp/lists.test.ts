import { describe, expect, test } from 'vitest';
import type { Chain } from '../../functions/http/message.ts';
import { mcpSettings } from '../../functions/mcp/exchange.ts';
import { SECRET_TOOL } from './acceptance-catalog.ts';
import { ask, mcpStage, refusalOf } from './support.ts';

const small = { settings: { ...mcpSettings, pageSize: 3 } };
const operator = { authorization: 'Bearer operator' };

/** The names on all pages. */
async function walk(chains: readonly Chain[], headers = {}): Promise<string[]> {
  const names: string[] = [];
  let params: Record<string, unknown> = {};
  for (let page = 0; page < 100; page += 1) {
    // Another instance answers each page.
    const { result } = await ask(chains[page % chains.length] as Chain, 'tools/list', params, headers);
    const { tools = [], nextCursor } = (result ?? {}) as { tools?: { name: string }[]; nextCursor?: string };
    names.push(...tools.map(({ name }) => name));
    if (nextCursor === undefined) return names;
    expect(tools).toHaveLength(3);
    params = { cursor: nextCursor };
  }
  throw new Error('the list does not end');
}

describe('pages of a list', () => {
  test('hold each item once, in the order of names, whichever instance answers', async () => {
    const stage = mcpStage(small);
    const names = await walk([stage.chain, stage.another()]);
    expect(names).toEqual([...new Set(names)].sort());
    expect(names.length).toBeGreaterThan(20);
  });

  test('an empty list is one, and each definition arrives as the catalog has it', async () => {
    const none = mcpStage({}, (catalog) => ({ ...catalog, tools: () => Promise.resolve([]) })).chain;
    expect((await ask(none, 'tools/list')).result).toMatchObject({ resultType: 'complete', tools: [] });
    const definition = {
      name: 'odd',
      description: 'quotes " and \\, ends }} and ],\u2028 all of €',
      inputSchema: { type: 'object' },
    };
    const tool = { definition, call: () => Promise.reject(new Error('never called')) };
    const one = mcpStage({}, (catalog) => ({ ...catalog, tools: () => Promise.resolve([tool]) })).chain;
    // Written once, copied the second time.
    for (const _ of [1, 2])
      expect((await ask(one, 'tools/list')).result).toMatchObject({ tools: [definition] });
  });

  test.each(['resources/list', 'resources/templates/list', 'prompts/list', 'tools/list'])(
    '%s holds the fields of a cache, and refuses a cursor that it did not give',
    async (method) => {
      const { chain } = mcpStage(small);
      expect((await ask(chain, method)).result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' });
      for (const cursor of ['', 'abc', 7, null, {}])
        expect(await refusalOf(chain, method, { cursor }), JSON.stringify(cursor)).toEqual([200, -32602]);
    },
  );

  test('a cursor holds for its list and its content', async () => {
    const stage = mcpStage(small);
    const { result } = await ask(stage.chain, 'tools/list');
    const cursor = String(result?.['nextCursor']);
    expect((await ask(stage.chain, 'tools/list', { cursor })).result).toHaveProperty('tools');
    const changed = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`;
    expect(await refusalOf(stage.chain, 'tools/list', { cursor: changed })).toEqual([200, -32602]);
    expect(await refusalOf(stage.chain, 'prompts/list', { cursor })).toEqual([200, -32602]);
    const newer = mcpStage(small, (catalog) => ({ ...catalog, contentVersion: '2' })).chain;
    expect(await refusalOf(newer, 'tools/list', { cursor })).toEqual([200, -32602]);
  });
});

describe('visibility', () => {
  test('O12: an answer that depends on the caller is private, and differs by the caller alone', async () => {
    const { chain } = mcpStage(small);
    expect(await walk([chain], operator)).toContain(SECRET_TOOL);
    expect(await walk([chain])).not.toContain(SECRET_TOOL);
    for (const headers of [{}, operator])
      expect((await ask(chain, 'tools/list', {}, headers)).result?.['cacheScope']).toBe('private');
  });

  test('a list does not depend on the capabilities of the client', async () => {
    const { chain } = mcpStage();
    const meta = (declared: object) => ({
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': declared,
      },
    });
    const all = { sampling: {}, roots: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    expect(await ask(chain, 'tools/list', meta(all))).toEqual(await ask(chain, 'tools/list', meta({})));
  });
});

describe('resources', () => {
  const { chain } = mcpStage();

  test('are read with the fields of a cache', async () => {
    const { result } = await ask(chain, 'resources/read', { uri: 'test://static-text' });
    expect(result).toMatchObject({
      resultType: 'complete',
      contents: [{ uri: 'test://static-text', mimeType: 'text/plain' }],
      ttlMs: 60_000,
      cacheScope: 'public',
    });
    const live = await ask(chain, 'resources/read', { uri: 'test://template/7/data' });
    expect(live.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });

  test('an answer to a repeated call is for no cache', async () => {
    const { result } = await ask(chain, 'resources/read', { uri: 'test://static-text', inputResponses: {} });
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });

  test('an unknown one is refused by its name', async () => {
    const { status, error } = await ask(chain, 'resources/read', { uri: 'test://template/a/b/data' });
    expect([status, error]).toEqual([
      200,
      { code: -32602, message: 'Resource not found', data: { uri: 'test://template/a/b/data' } },
    ]);
    expect(await refusalOf(chain, 'resources/read')).toEqual([200, -32602]);
  });

  test('a failure hides its cause, and is logged', async () => {
    const failing = mcpStage({}, (catalog) => ({
      ...catalog,
      resources: {
        list: () => Promise.reject(new Error('the secret of the store')),
        templates: () => Promise.resolve([]),
      },
    }));
    const { status, error } = await ask(failing.chain, 'resources/read', { uri: 'a:b' });
    expect([status, error?.code]).toEqual([200, -32603]);
    expect(JSON.stringify(error)).not.toContain('secret');
    expect(failing.lines).toContainEqual(expect.objectContaining({ severity: 'ERROR', operation: 'mcp' }));
    expect(JSON.stringify(failing.lines)).not.toContain('secret');
  });
});
