import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plainInstructions, readingInstructions } from '../../functions/mcp/service/instructions.ts';
import { olderFaults } from './older-faults.ts';
import { initializeParams, OLDER, olderAsk, olderSend } from './older-support.ts';
import { callTool, createCollection, IDENTITY, type McpService, startMcpService } from './service-stage.ts';

/** The catalog of the service for clients of older revisions, from two instances over one database. */

let one: McpService;
let other: McpService;

const as = (principal: string) => ({ [IDENTITY]: principal });

beforeAll(async () => {
  one = await startMcpService();
  other = await startMcpService({ folder: one.folder });
  await one.start();
  await createCollection(one, 'writer', 'articles');
  for (const id of ['a', 'b', 'c']) {
    const body = { id, partitionKey: 'p', type: 'article', metadata: {}, content: { text: id } };
    await one.call({ method: 'POST', path: '/collections/articles/records', headers: as('writer'), body });
  }
});

afterAll(async () => {
  await other.close();
  await one.close();
});

describe.each(OLDER)('a client of %s', (revision) => {
  test('goes on at another instance after each request', async () => {
    const begun = await olderAsk(one.chain, revision, 'initialize', initializeParams(revision), as('reader'));
    expect(begun.result).toMatchObject({
      protocolVersion: revision,
      capabilities: { tools: {}, resources: {} },
    });
    expect(begun.result?.['capabilities']).not.toHaveProperty('extensions');
    expect(begun.result?.['instructions']).toBe(plainInstructions);
    const listed = await olderSend(other.chain, revision, 'tools/list', {}, as('reader'));
    expect(olderFaults(listed, 'tools/list', revision)).toEqual([]);
    expect((await olderSend(one.chain, revision, 'tools/list', {}, as('reader'))).body).toBe(listed.body);
    const call = { name: 'svc_records_query_v1', arguments: { collection: 'articles' } };
    const answer = await olderSend(one.chain, revision, 'tools/call', call, as('reader'));
    expect(olderFaults(answer, 'tools/call', revision)).toEqual([]);
    expect(answer.body).toContain('"c\\"');
  });

  test('reads the same records and resources, and the same refusals', async () => {
    const name = 'svc_records_get_v1';
    const given = { collection: 'articles', partitionKey: 'p', id: 'a' };
    const { result } = await olderAsk(
      one.chain,
      revision,
      'tools/call',
      { name, arguments: given },
      as('reader'),
    );
    expect(result).not.toHaveProperty('isError');
    expect(result?.['content']).toEqual((await callTool(one, 'reader', name, given))['content']);
    const missing = { name, arguments: { ...given, id: 'none' } };
    const refused = await olderSend(one.chain, revision, 'tools/call', missing, as('reader'));
    expect(olderFaults(refused, 'tools/call', revision)).toEqual([]);
    expect(refused.body).toContain('"isError":true');
    for (const [method, params] of [
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: 'svc://health/v1' }],
      ['resources/read', { uri: 'svc://nothing/v1' }],
    ] as const) {
      const response = await olderSend(other.chain, revision, method, params, as('reader'));
      expect(olderFaults(response, method, revision)).toEqual([]);
    }
  });
});

test('without tools for durable work, the instructions do not speak of them', async () => {
  const off = await startMcpService({ folder: one.folder, settings: { 'Mcp:PlainTasks': 'false' } });
  const begun = await olderAsk(off.chain, '2025-11-25', 'initialize', initializeParams('x'), as('reader'));
  expect(begun.result?.['instructions']).toBe(readingInstructions);
  await off.close();
});

test('Mcp:Revisions narrows what the service serves, in any order', async () => {
  const narrow = await startMcpService({
    settings: { 'Mcp:Revisions:0': '2025-06-18', 'Mcp:Revisions:1': '2025-11-25' },
  });
  const { result } = await olderAsk(
    narrow.chain,
    '2025-11-25',
    'initialize',
    initializeParams('x'),
    as('reader'),
  );
  expect(result).toMatchObject({ protocolVersion: '2025-11-25' });
  const { error } = await narrow.ask('reader', 'server/discover');
  expect(error).toMatchObject({ code: -32022, data: { supported: ['2025-11-25', '2025-06-18'] } });
  await narrow.close();
});
