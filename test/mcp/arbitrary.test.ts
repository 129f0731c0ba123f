import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerFaults } from './answer-faults.ts';
import { json, names, rarely } from './arbitrary-values.ts';
import { bodyOf, fieldsOf, META, mcpStage, post, TASKS, withCapabilities } from './support.ts';

/** For any request the answer is well formed and the same on every instance. */

const methods = [
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'subscriptions/listen',
  'initialize',
];
const metas = fc.constantFrom(META, withCapabilities(TASKS), {
  ...withCapabilities({ elicitation: {} }),
  progressToken: 1,
});
const params = fc.record(
  {
    _meta: rarely(metas),
    name: rarely(fc.constantFrom(...names)),
    uri: rarely(fc.constantFrom('test://static-text', 'test://template/1/data', 'test://none')),
    taskId: rarely(fc.constantFrom('task-1', 'none')),
    arguments: rarely(fc.dictionary(fc.string(), json)),
    cursor: json,
    inputResponses: rarely(
      fc.dictionary(fc.constantFrom('user_name', 'x'), fc.constant({ action: 'accept' })),
    ),
    requestState: fc.oneof(fc.string(), json),
    notifications: rarely(fc.dictionary(fc.string(), json)),
    ref: json,
    argument: rarely(fc.record({ name: fc.string(), value: fc.string() })),
    task: json,
  },
  { requiredKeys: ['_meta'] },
);

const headers = (method: string, given: Record<string, unknown>) =>
  fc
    .dictionary(
      fc.constantFrom(
        'Mcp-Method',
        'Mcp-Name',
        'MCP-Protocol-Version',
        'Mcp-Param-Region',
        'Mcp-Param-Verbose',
      ),
      fc.oneof(fc.constantFrom(...methods, '2026-07-28', '=?base64?YQ==?='), fc.string()),
      { maxKeys: 1 },
    )
    .map((changed) => ({ ...fieldsOf(method, given), ...changed }));

const messages = fc
  .tuple(fc.constantFrom(...methods), params)
  .chain(([method, given]) =>
    fc.tuple(
      fc.oneof(
        { weight: 5, arbitrary: fc.constant<unknown>(bodyOf(method, given)) },
        fc.record(
          { jsonrpc: json, id: json, method: json, params: json },
          { requiredKeys: [] },
        ) as fc.Arbitrary<unknown>,
        json as fc.Arbitrary<unknown>,
      ),
      headers(method, given),
    ),
  );

const runs = { numRuns: 600 };

describe('any message', () => {
  test('gets a well-formed answer, the same from two instances', async () => {
    await fc.assert(
      fc.asyncProperty(messages, async ([body, fields]) => {
        const [one, other] = [mcpStage(), mcpStage()];
        const text = JSON.stringify(body);
        // A field that HTTP itself refuses never reaches the endpoint.
        const sendable = Object.entries(fields).map(
          ([name, value]) => [name, value.replace(/[^\x20-\xff]/g, '')] as const,
        );
        const sent = [...sendable, ['X-Correlation-ID', 'a'] as const];
        const [answer, same] = [await post(one.chain, text, sent), await post(other.chain, text, sent)];
        expect(answerFaults(answer, JSON.parse(text))).toEqual([]);
        expect(same).toMatchObject({ status: answer.status, body: answer.body });
        expect(one.lines.filter(({ severity }) => severity === 'ERROR')).toEqual([]);
      }),
      runs,
    );
  });

  test('gets a well-formed answer where the bytes are no message at all', async () => {
    const { chain } = mcpStage();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        expect(answerFaults(await post(chain, bytes, fieldsOf('tools/list')), undefined)).toEqual([]);
      }),
      runs,
    );
  });
});
