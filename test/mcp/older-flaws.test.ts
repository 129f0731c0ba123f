import { describe, expect, test } from 'vitest';
import type { OlderRevision } from '../../functions/mcp/revisions.ts';
import { olderFaults } from './older-faults.ts';
import { initializeParams, OLDER, olderFields, olderSend } from './older-support.ts';
import { mcpStage, post } from './support.ts';

/** Each planted fault must be found by the oracle of older revisions. */

interface Flaw {
  readonly revision?: OlderRevision;
  readonly method: string;
  readonly params?: Record<string, unknown>;
  readonly plant: (text: string) => string;
  readonly status?: number;
}

const progress = { name: 'test_tool_with_progress', _meta: { progressToken: 1 } };

const flaws: Readonly<Record<string, Flaw>> = {
  'a type of result': {
    method: 'tools/list',
    plant: (text) => text.replace('"result":{', '"result":{"resultType":"complete",'),
  },
  'a time to live': {
    method: 'tools/list',
    plant: (text) => text.replace('"result":{', '"result":{"ttlMs":1,'),
  },
  'a cache scope': {
    method: 'resources/read',
    params: { uri: 'test://static-text' },
    plant: (text) => text.replace('"result":{', '"result":{"cacheScope":"public",'),
  },
  'the server in metadata': {
    method: 'tools/list',
    plant: (text) => text.replace('"_meta":{', '"_meta":{"io.modelcontextprotocol/serverInfo":{},'),
  },
  'structured content of 2025-03-26': {
    revision: '2025-03-26',
    method: 'tools/call',
    params: { name: 'greet' },
    plant: (text) => text.replace('"result":{', '"result":{"structuredContent":{},'),
  },
  'structured content that is a list': {
    method: 'tools/call',
    params: { name: 'greet' },
    plant: (text) => text.replace('"result":{', '"result":{"structuredContent":[],'),
  },
  'an output schema of a list': {
    method: 'tools/list',
    plant: (text) => text.replace('"inputSchema":', '"outputSchema":{"type":"array"},"inputSchema":'),
  },
  'an output schema of 2025-03-26': {
    revision: '2025-03-26',
    method: 'tools/list',
    plant: (text) => text.replace('"inputSchema":', '"outputSchema":{"type":"object"},"inputSchema":'),
  },
  'a title of 2025-03-26': {
    revision: '2025-03-26',
    method: 'tools/list',
    plant: (text) => text.replace('"inputSchema":', '"title":"a","inputSchema":'),
  },
  'metadata of a text of 2025-03-26': {
    revision: '2025-03-26',
    method: 'tools/call',
    params: { name: 'greet' },
    plant: (text) => text.replace('"type":"text"', '"_meta":{},"type":"text"'),
  },
  'a handshake without a version': {
    method: 'initialize',
    params: initializeParams('2025-11-25'),
    plant: (text) => text.replace('"protocolVersion":"2025-11-25",', ''),
  },
  'a handshake without its server': {
    method: 'initialize',
    params: initializeParams('2025-11-25'),
    plant: (text) => text.replace('"serverInfo"', '"server"'),
  },
  'a list without a name': { method: 'prompts/list', plant: (text) => text.replace('"name":', '"named":') },
  'an unknown method with the status of a lost session': { method: 'x', plant: (text) => text, status: 404 },
  'a code of the newest revision': { method: 'x', plant: (text) => text.replace('-32601', '-32021') },
  'an error without a message': { method: 'x', plant: (text) => text.replace('"message"', '"messages"') },
  'another id': { method: 'ping', plant: (text) => text.replace('"id":1', '"id":2') },
  'a result with the status of a refusal': { method: 'ping', plant: (text) => text, status: 400 },
  'a request of the server in a stream': {
    method: 'tools/call',
    params: progress,
    plant: (text) => text.replace('notifications/progress', 'sampling/createMessage'),
  },
  'progress without its token': {
    method: 'tools/call',
    params: progress,
    plant: (text) => text.replace('"progressToken":1,', ''),
  },
};

describe('the oracle of older revisions', () => {
  test.each(Object.entries(flaws))(
    'finds %s',
    async (_, { revision = '2025-11-25', method, params, plant, status }) => {
      const response = await olderSend(mcpStage().chain, revision, method, params);
      expect(olderFaults(response, method, revision)).toEqual([]);
      const planted = { ...response, body: plant(response.body), status: status ?? response.status };
      expect([planted.body, planted.status]).not.toEqual([response.body, response.status]);
      expect(olderFaults(planted, method, revision)).not.toEqual([]);
    },
  );

  test.each<[what: string, plant: (text: string) => string, status: number]>([
    ['the id null', (text) => text.replace('{"jsonrpc"', '{"id":null,"jsonrpc"'), 400],
    ['an id of a text', (text) => text.replace('{"jsonrpc"', '{"id":"1","jsonrpc"'), 400],
    ['another member', (text) => text.replace('{"jsonrpc"', '{"method":"x","jsonrpc"'), 400],
    ['no message', (text) => text.replace('"message"', '"messages"'), 400],
    ['the status of a result', (text) => text, 200],
  ])('finds, in the refusal of a body that is not read, %s', async (_, plant, status) => {
    const { chain } = mcpStage();
    for (const revision of OLDER)
      for (const body of [[], { jsonrpc: '2.0', id: null, method: 'ping' }, 5]) {
        const response = await post(chain, body, olderFields(revision));
        expect(olderFaults(response, 'ping', revision)).toEqual([]);
        const planted = { ...response, body: plant(response.body), status };
        expect(olderFaults(planted, 'ping', revision)).not.toEqual([]);
      }
  });

  test('finds a refusal of a request that was read, without its id', async () => {
    const response = await olderSend(mcpStage().chain, '2025-11-25', 'x');
    const body = response.body.replace('"id":1,', '');
    expect(olderFaults({ ...response, body }, 'x', '2025-11-25')).toContain('another id');
  });

  test('finds a session', async () => {
    const response = await olderSend(mcpStage().chain, '2025-11-25', 'ping');
    const headers = { ...response.headers, 'mcp-session-id': 'a' };
    expect(olderFaults({ ...response, headers }, 'ping', '2025-11-25')).toEqual(['a session']);
  });
});
