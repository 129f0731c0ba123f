import { describe, expect, test } from 'vitest';
import type { McpCatalog, McpTool } from '../../functions/mcp/catalog.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { acceptanceCatalog } from './acceptance-catalog.ts';
import { definitionOf, textOf } from './acceptance-definitions.ts';
import { MemoryTasks } from './acceptance-tasks.ts';
import { olderFaults } from './older-faults.ts';
import { initializeParams, OLDER, olderAsk, olderSend, olderTools } from './older-support.ts';
import { ask, mcpStage, messagesOf } from './support.ts';

/** Every answer of an older revision has the shape of that revision, and the content of the newest one. */

const VERSIONED = { Accept: 'application/json, text/event-stream' };

/** Tools, resources and prompts with all that a revision may lack. */
function rich(catalog: McpCatalog): McpCatalog {
  const mark = { _meta: { 'svc.test/mark': true } };
  const tool = (name: string, more: object, answer: object): McpTool => ({
    definition: { ...definitionOf(name), title: 'A title', ...mark, ...more },
    call: () => Promise.resolve({ ...textOf('text'), ...answer }),
  });
  const objects = { type: 'object', properties: { a: { type: 'number' } } };
  const link = { type: 'resource_link', uri: 'svc://a', name: 'a' };
  const embedded = { type: 'resource', resource: { uri: 'svc://a', text: 'b', ...mark } };
  const tools = [
    tool('objects', { outputSchema: objects }, { structuredContent: { a: 1 } }),
    tool('lists', { outputSchema: { type: 'array' } }, { structuredContent: [1] }),
    tool('choices', { outputSchema: { anyOf: [objects] } }, { structuredContent: { a: 1 } }),
    tool('contents', {}, { content: [{ type: 'text', text: 'a', ...mark }, link, embedded], ...mark }),
  ];
  return {
    ...catalog,
    serverInfo: { ...catalog.serverInfo, title: 'The acceptance server' },
    tools: async (caller) => [...((await catalog.tools?.(caller)) ?? []), ...tools],
    prompts: () =>
      Promise.resolve([
        {
          definition: { name: 'rich', description: 'A prompt.' },
          get: () =>
            Promise.resolve({
              resultType: 'complete' as const,
              messages: [
                { role: 'user', content: link },
                { role: 'user', content: { type: 'text', text: 'a', ...mark } },
              ],
            }),
        },
      ]),
  };
}

const { chain } = mcpStage({}, rich);
const call = (name: string, more: object = {}) => ({ name, arguments: {}, ...more });

/** The tools that need a capability of the client, in the order of their names. */
const whole = rich(acceptanceCatalog(new MemoryTasks(new ManualWorld().clock, () => 'task')));
const offered = (await whole.tools?.({ kind: 'development', principal: null })) ?? [];
const needy = offered.flatMap(({ needs, definition }) => (needs ? [definition.name] : [])).sort();

const requests: readonly (readonly [method: string, params: Record<string, unknown>])[] = [
  ['initialize', initializeParams('2025-11-25')],
  ['ping', {}],
  ['tools/list', {}],
  ['tools/call', call('test_simple_text')],
  ['tools/call', call('test_multiple_content_types')],
  ['tools/call', call('test_audio_content')],
  ['tools/call', call('test_error_handling')],
  ['tools/call', call('test_tool_with_progress', { _meta: { progressToken: 'p' } })],
  ['tools/call', call('objects')],
  ['tools/call', call('lists')],
  ['tools/call', call('choices')],
  ['tools/call', call('contents')],
  ['tools/call', call('unknown')],
  ['tools/call', { name: 5 }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'test://static-text' }],
  ['resources/read', { uri: 'test://static-binary' }],
  ['resources/read', { uri: 'test://template/1/data' }],
  ['resources/read', { uri: 'test://none' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'rich' }],
  ['prompts/get', { name: 'none' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'par' } }],
  ['server/discover', {}],
  ['unknown/method', {}],
];

describe.each(OLDER)('answers of %s', (revision) => {
  test.each(requests)('%s %j', async (method, params) => {
    const sent = method === 'initialize' ? initializeParams(revision) : params;
    expect(olderFaults(await olderSend(chain, revision, method, sent), method, revision)).toEqual([]);
  });

  test('have the content of the newest revision', async () => {
    const newest = (await ask(chain, 'tools/call', call('test_multiple_content_types'))).result;
    const older = (await olderAsk(chain, revision, 'tools/call', call('test_multiple_content_types'))).result;
    expect(older?.['content']).toEqual(newest?.['content']);
    const read = { uri: 'test://static-text' };
    expect((await olderAsk(chain, revision, 'resources/read', read)).result?.['contents']).toEqual(
      (await ask(chain, 'resources/read', read)).result?.['contents'],
    );
  });

  test('list all tools that need no capability, twice the same', async () => {
    const older = await olderTools(chain, revision);
    expect(await olderTools(chain, revision)).toEqual(older);
    const names = older.map(({ name }) => name);
    const { result = {} } = await ask(chain, 'tools/list');
    const newest = (result['tools'] as { name: string }[]).map(({ name }) => name);
    expect(newest.filter((name) => !names.includes(name))).toEqual(needy);
    expect(names.every((name) => newest.includes(name))).toBe(true);
  });
});

describe('what a revision lacks', () => {
  const toolOf = async (revision: (typeof OLDER)[number], name: string) => {
    return (await olderTools(chain, revision)).find((tool) => tool.name === name);
  };
  const resultOf = async (revision: (typeof OLDER)[number], name: string) =>
    (await olderAsk(chain, revision, 'tools/call', call(name))).result;

  test.each(['2025-11-25', '2025-06-18'] as const)(
    '%s has structured content that is an object',
    async (revision) => {
      expect(await resultOf(revision, 'objects')).toMatchObject({ structuredContent: { a: 1 } });
      expect(await toolOf(revision, 'objects')).toMatchObject({
        title: 'A title',
        outputSchema: { type: 'object' },
      });
      expect(await resultOf(revision, 'lists')).toEqual({ content: [{ type: 'text', text: 'text' }] });
      // A tool with such a schema would make a client refuse the whole list.
      expect(await toolOf(revision, 'lists')).not.toHaveProperty('outputSchema');
      expect(await toolOf(revision, 'choices')).not.toHaveProperty('outputSchema');
      expect(await toolOf(revision, 'lists')).toHaveProperty('title');
      expect((await resultOf(revision, 'contents'))?.['content']).toMatchObject([
        { _meta: {} },
        { type: 'resource_link' },
        { resource: { _meta: {} } },
      ]);
      const { result } = await olderAsk(chain, revision, 'initialize', initializeParams(revision));
      expect(result?.['serverInfo']).toHaveProperty('title');
    },
  );

  test('2025-03-26 has neither structured content, titles, links nor metadata of definitions', async () => {
    const revision = '2025-03-26';
    expect(await resultOf(revision, 'objects')).toEqual({ content: [{ type: 'text', text: 'text' }] });
    expect(Object.keys((await toolOf(revision, 'objects')) ?? {}).sort()).toEqual([
      'annotations',
      'description',
      'inputSchema',
      'name',
    ]);
    expect(await resultOf(revision, 'contents')).toEqual({
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'svc://a' },
        { type: 'resource', resource: { uri: 'svc://a', text: 'b' } },
      ],
      _meta: { 'svc.test/mark': true },
    });
    const { result } = await olderAsk(chain, revision, 'prompts/get', { name: 'rich' });
    expect(result?.['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: 'svc://a' } },
      { role: 'user', content: { type: 'text', text: 'a' } },
    ]);
  });

  test('the newest keeps all of it', async () => {
    const { result = {} } = await ask(chain, 'tools/list');
    const tools = result['tools'] as Record<string, unknown>[];
    expect(tools.find(({ name }) => name === 'lists')).toMatchObject({ outputSchema: { type: 'array' } });
    expect((await ask(chain, 'tools/call', call('lists'))).result).toMatchObject({ structuredContent: [1] });
  });
});

describe('progress', () => {
  const params = call('test_tool_with_progress', { _meta: { progressToken: 7 } });
  const typeFor = async (accept: Record<string, string>) => {
    const headers = { 'MCP-Protocol-Version': '2025-06-18', ...accept };
    const response = await olderSend(chain, '2025-03-26', 'tools/call', params, headers);
    expect(olderFaults(response, 'tools/call', '2025-06-18')).toEqual([]);
    return [response.headers['content-type'], messagesOf(response).length];
  };

  test.each([
    'application/json, text/event-stream',
    'text/event-stream;q=0.5',
    'text/*',
    '*/*;q=0.05',
    'APPLICATION/JSON , TEXT/EVENT-STREAM',
  ])('comes in a stream to a client that accepts %s', async (accept) => {
    expect(await typeFor({ Accept: accept })).toEqual(['text/event-stream', 4]);
  });

  test.each(['application/json', 'text/event-stream;q=0', '*/*;q=0.000', 'text/event-streams', ''])(
    'does not come to a client that accepts %j: it gets one object',
    async (accept) => {
      expect(await typeFor({ Accept: accept })).toEqual(['application/json', 1]);
    },
  );

  test('does not come to a client that named no token', async () => {
    const response = await olderSend(
      chain,
      '2025-11-25',
      'tools/call',
      call('test_tool_with_progress'),
      VERSIONED,
    );
    expect(response.headers['content-type']).toBe('application/json');
  });
});
