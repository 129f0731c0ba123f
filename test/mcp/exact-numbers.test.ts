import { afterAll, beforeAll, expect, test } from 'vitest';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { ownPointer } from '../../functions/mcp/own-pointer.ts';
import {
  bodyAt,
  integer,
  kept,
  type NumberPlace,
  placesOf,
  pointerOf,
  rounded,
  withNumber,
} from '../security/number-places.ts';
import { contractModels } from '../security/schema-set.ts';
import { IDENTITY, type McpService, startMcpService } from './service-stage.ts';
import { bodyOf, fieldsOf, messagesOf, TASKS, withCapabilities } from './support.ts';

const entries: Readonly<Record<string, OperationEntry>> = operations;
const set = contractModels();
const tools = found.definitions.flatMap(({ operationId, exposure, definition }) => {
  const model = entries[operationId]?.requestSchema ?? null;
  const members = Object.keys(('inputSchema' in definition ? definition.inputSchema.properties : null) ?? {});
  if (exposure === 'resource' || model === null) return [];
  const places = [...placesOf(set, set.model(model))].filter(({ path }) => members.includes(String(path[0])));
  // The text of a refusal names no member that the caller chose.
  const own = (path: NumberPlace['path']) =>
    ownPointer(pointerOf(path), (definition as unknown as { inputSchema: JsonObject }).inputSchema);
  return [{ name: definition.name, places, own }];
});

let service: McpService;
beforeAll(async () => {
  service = await startMcpService();
});
afterAll(() => service.close());

/** The code of the refusal with its pointer, or the code of JSON-RPC; `null` for any other answer. */
async function refusalOf(name: string, path: readonly (string | number)[], number: string): Promise<unknown> {
  const params = { name, arguments: bodyAt(path), _meta: withCapabilities(TASKS) };
  const response = await service.send({
    body: Buffer.from(withNumber(JSON.stringify(bodyOf('tools/call', params)), number)),
    headers: { ...fieldsOf('tools/call', params), [IDENTITY]: 'writer' },
  });
  const message = messagesOf(response).at(-1) as {
    error?: { code: number };
    result?: { isError?: boolean; content?: readonly { text: string }[] };
  };
  if (message.error !== undefined) return message.error.code;
  const { isError = false, content = [] } = message.result ?? {};
  const text = content[0]?.text ?? '';
  return isError && text.endsWith('(malformed_request)') ? text.slice(0, text.indexOf(': must')) : null;
}

test.each(tools)(
  '$name refuses numbers that a double changes, and rounds floats',
  async ({ name, places, own }) => {
    for (const { path, isFloat } of places) {
      for (const number of rounded)
        expect(await refusalOf(name, path, number), number).toBe(isFloat ? null : own(path));
      for (const number of kept) expect(await refusalOf(name, path, number), number).toBeNull();
      for (const number of [integer, '1e999', '9'.repeat(400)])
        expect(await refusalOf(name, path, number), number).toBe(own(path));
    }
  },
);

test('a parameter that is a float rounds, and another number beside it does not', async () => {
  const get = 'svc_execution_get_run_v1';
  for (const number of rounded) {
    // The path is absent, so the call is refused for another reason.
    expect(await refusalOf(get, ['waitSeconds'], number)).toBeNull();
    expect(await refusalOf(get, ['runId'], number)).toBe('/runId');
  }
});

test('a number beside the arguments is refused with the message', async () => {
  const params = { name: 'svc_collections_list_v1', arguments: {}, _meta: withCapabilities(TASKS) };
  const body = JSON.stringify(bodyOf('tools/call', params)).replace(
    '"arguments"',
    '"more":1e-400,"arguments"',
  );
  const headers = { ...fieldsOf('tools/call', params), [IDENTITY]: 'writer' };
  const response = await service.send({ body: Buffer.from(body), headers });
  expect(messagesOf(response).at(-1)).toMatchObject({ error: { code: -32700 } });
  expect(tools.flatMap(({ places }) => places).length).toBeGreaterThan(30);
});
