import { expect, test } from 'vitest';
import { mcpGroups } from '../../functions/compose/mcp.ts';
import { hosted } from '../support/hosted.ts';
import { bodyOf, fieldsOf, messagesOf } from './support.ts';

/** The endpoint as a deployed function of its own, with its queue in the cloud. */

test('the function answers the endpoint and nothing else', async () => {
  const api = await hosted({ target: 'mcp', settings: { 'Mcp:Enabled': 'true' } });
  const ask = async (method: string, params: object = {}) => {
    const sent = { ...params };
    const headers = fieldsOf(method, sent);
    const response = await api.call({
      method: 'POST',
      path: '/mcp?a=b',
      headers,
      body: bodyOf(method, sent),
    });
    return messagesOf(response)[0];
  };
  const listed = await ask('tools/list');
  expect(JSON.stringify(listed)).toContain('svc_records_query_v1');
  const name = 'svc_collections_list_v1';
  expect(await ask('tools/call', { name, arguments: {} })).toMatchObject({
    result: { structuredContent: { items: [] } },
  });
  for (const path of ['/', '/health', '/collections', '/execution/runs', '/mcp/', '/mcp/x', '/MCP'])
    expect((await api.call({ method: 'GET', path })).status, path).toBe(404);
  await api.close();
});

test('the function loads the groups that the endpoint calls, and no others', async () => {
  const groups = await mcpGroups(['server', 'canonical', 'execution', 'collections', 'records', 'traces']);
  expect(groups).toEqual(['server', 'execution', 'collections', 'records']);
});
