import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isJsonObject } from '../../functions/kernel/json-kinds.ts';
import { json, names, rarely } from './arbitrary-values.ts';
import { olderFaults } from './older-faults.ts';
import { OLDER, olderBody, olderFields } from './older-support.ts';
import { mcpStage, messagesOf, post } from './support.ts';

/** For any request of an older revision the answer has the shape of that revision, and is the same on every instance. */

const methods = [
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'server/discover',
  'tasks/get',
  'subscriptions/listen',
];
const params = fc.record(
  {
    _meta: rarely(fc.constantFrom({}, { progressToken: 1 }, { progressToken: 'a' })),
    name: rarely(fc.constantFrom(...names)),
    uri: rarely(fc.constantFrom('test://static-text', 'test://template/1/data', 'test://none')),
    arguments: rarely(fc.dictionary(fc.string(), json)),
    cursor: json,
    inputResponses: json,
    requestState: json,
    ref: json,
    argument: rarely(fc.record({ name: fc.string(), value: fc.string() })),
    task: json,
  },
  { requiredKeys: [] },
);

test('any request of an older revision is answered in it, by two instances alike', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...OLDER),
      fc.constantFrom(...methods),
      params,
      async (revision, method, given) => {
        const [one, other] = [mcpStage(), mcpStage()];
        const body = olderBody(method, given);
        const sent = { ...olderFields(revision), 'X-Correlation-ID': 'a' };
        const [answer, same] = [await post(one.chain, body, sent), await post(other.chain, body, sent)];
        expect(olderFaults(answer, method, revision)).toEqual([]);
        expect(same).toMatchObject({ status: answer.status, body: answer.body });
        expect(one.lines.filter(({ severity }) => severity === 'ERROR')).toEqual([]);
      },
    ),
    { numRuns: 600 },
  );
});

test('any handshake is answered with a revision that is served, or with a refusal', async () => {
  const handshake = fc.record(
    {
      protocolVersion: fc.oneof(json, fc.constantFrom(...OLDER, '2026-07-28')),
      capabilities: fc.oneof(json, fc.constant({})),
      clientInfo: fc.oneof(json, fc.constant({ name: 'a', version: '1' })),
    },
    { requiredKeys: [] },
  );
  const { chain } = mcpStage();
  await fc.assert(
    fc.asyncProperty(handshake, async (given) => {
      const response = await post(chain, olderBody('initialize', given));
      const [message] = messagesOf(response);
      const result = message?.['result'];
      const revision = OLDER.find((each) => isJsonObject(result) && result['protocolVersion'] === each);
      expect(olderFaults(response, 'initialize', revision ?? '2025-11-25')).toEqual([]);
      expect(revision !== undefined).toBe(isHandshake(given));
    }),
    { numRuns: 300 },
  );
});

function isHandshake({ protocolVersion, capabilities, clientInfo }: Readonly<Record<string, unknown>>) {
  const client = isJsonObject(clientInfo) ? [clientInfo['name'], clientInfo['version']] : [null];
  const texts = [protocolVersion, ...client];
  return isJsonObject(capabilities) && texts.every((text) => typeof text === 'string');
}
