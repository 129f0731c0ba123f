import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { ToolMap } from '../../functions/mcp/service/tool-map.ts';
import { HANDLER, previewCases, scope, toolCases } from './service-cases.ts';
import { callTool, createCollection, IDENTITY, type McpService, startMcpService } from './service-stage.ts';
import { argumentsOf } from './tool-arguments.ts';

/**
 * Faults that only the stored state shows: the schema allows the arguments, and the collection refuses them. The operation finds them far
 * below its request, and the refusal names the argument all the same.
 */

interface Tool {
  readonly operationId: string;
  readonly exposure: string;
  readonly map: ToolMap;
  readonly definition: { readonly name: string };
}

const tools = (found.definitions as unknown as readonly Tool[]).filter(
  ({ exposure }) => exposure === 'tool' || exposure === 'preview',
);

interface Fault {
  readonly what: string;
  readonly given: JsonObject;
  readonly pointer: string;
}

const INDEXED = 'dated';
const filters: readonly JsonObject[] = [
  { path: '/metadata/day', op: 'gte', value: '2026-01-01' },
  { combine: 'all', children: [{ path: '/metadata/day', op: 'gte', value: '2026-01-01' }] },
];

/** The faults that the arguments of the tool can have. A mode compares vectors, which the collection does not have. */
function faultsOf({ map: { takes, advanced } }: Tool): readonly Fault[] {
  const faults: Fault[] = [];
  const add = (name: string, value: unknown, pointer = `/${name}`, beside: JsonObject = {}) => {
    if (name in takes)
      faults.push({
        what: `${name} of ${JSON.stringify(value)}`,
        given: { ...beside, [name]: value } as JsonObject,
        pointer,
      });
  };
  const modes: readonly JsonObject[] = 'searchMode' in takes ? [{}, { searchMode: 'vector' }] : [{}];
  for (const mode of modes) {
    add('filter', filters[0], mode['searchMode'] === undefined ? '/filter/value' : '/searchMode', mode);
    add(
      'filter',
      filters[1],
      mode['searchMode'] === undefined ? '/filter/children/0/value' : '/searchMode',
      mode,
    );
  }
  add('continuationToken', 'x');
  if ('query' in takes && 'profile' in takes) {
    add('searchMode', 'vector');
    add('searchMode', 'hybrid');
    add('profile', 'discovery');
    add('profile', 'discovery', '/searchMode', { searchMode: 'hybrid' });
  }
  if ('vectorField' in advanced) {
    const given = { searchMode: 'vector', advanced: { vectorField: 'none' } };
    faults.push({ what: 'a vector field', given, pointer: '/advanced/vectorField' });
  }
  return faults;
}

let service: McpService;
let runId: string;

beforeAll(async () => {
  service = await startMcpService({ settings: { 'Mcp:PreviewTools': 'true' } });
  await createCollection(service, 'writer', INDEXED, { indexedMetadata: ['/metadata/day'] });
  const body = { handlerId: HANDLER, scope };
  const headers = { [IDENTITY]: 'writer' };
  const started = await service.call({ method: 'POST', path: '/execution/runs', headers, body });
  runId = started.json<{ id: string }>().id;
});

afterAll(() => service.close());

function validArguments({ operationId, map }: Tool): Readonly<Record<string, unknown>> {
  const { searchMode: _mode, ...given } = argumentsOf(
    map,
    { ...toolCases({ runId }), ...previewCases }[operationId]!,
  );
  return {
    ...given,
    ...('collection' in map.takes ? { collection: INDEXED } : {}),
    ...('collections' in map.takes ? { collections: [INDEXED] } : {}),
  };
}

const faulty = tools.flatMap((tool) => faultsOf(tool).map((fault) => [tool, fault] as const));

describe('a refusal names its member', () => {
  test('for many tools', () => {
    expect(new Set(faulty.map(([{ operationId }]) => operationId)).size).toBeGreaterThan(7);
  });

  test.each(faulty.map(([tool, fault]) => [tool.definition.name, fault.what, tool, fault] as const))(
    '%s: %s',
    async (name, _, tool, { given, pointer }) => {
      const result = await callTool(service, 'writer', name, {
        ...validArguments(tool),
        ...given,
      });
      const [content] = result['content'] as readonly { text: string }[];
      expect(result['isError'], content?.text).toBe(true);
      expect(content?.text).toContain(`${pointer}: `);
      expect(content?.text).not.toContain('The call');
    },
  );
});
