import { describe, expect, test } from 'vitest';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { answerFaults } from './answer-faults.ts';
import { bodyOf, fieldsOf, META, mcpStage, post, TASKS, withCapabilities } from './support.ts';

/** Each planted fault must be found by the oracle of the wire: an oracle that finds nothing proves nothing. */

const able = { _meta: withCapabilities(TASKS) };

async function answered(method: string, params = {}): Promise<[InjectedResponse, unknown]> {
  const body = bodyOf(method, params);
  return [await post(mcpStage().chain, body, fieldsOf(method, params)), body];
}

interface Flaw {
  readonly method: string;
  readonly params?: object;
  readonly plant: (text: string) => string;
  readonly status?: number;
}

const progress = { name: 'test_tool_with_progress', _meta: { ...META, progressToken: 1 } };

const flaws: Readonly<Record<string, Flaw>> = {
  'an answer without its id': { method: 'tools/list', plant: (text) => text.replace('"id":1,', '') },
  'an answer to another id': { method: 'tools/list', plant: (text) => text.replace('"id":1', '"id":2') },
  'an id of another type': { method: 'tools/list', plant: (text) => text.replace('"id":1', '"id":"1"') },
  'a result without its type': {
    method: 'tools/list',
    plant: (text) => text.replace('"resultType":"complete",', ''),
  },
  'a list without a cache scope': {
    method: 'tools/list',
    plant: (text) => text.replace('"cacheScope":"private",', ''),
  },
  'a time to live below zero': {
    method: 'tools/list',
    plant: (text) => text.replace('"ttlMs":60000', '"ttlMs":-1'),
  },
  'no server info': {
    method: 'tools/list',
    plant: (text) => text.replace('io.modelcontextprotocol/serverInfo', 'x'),
  },
  'a cache scope on a call': {
    method: 'tools/call',
    params: { name: 'test_simple_text' },
    plant: (text) => text.replace('"resultType":', '"cacheScope":"private","resultType":'),
  },
  'a result beside an error': {
    method: 'x',
    plant: (text) => text.replace('"error":', '"result":{},"error":'),
  },
  'an unknown code': { method: 'x', plant: (text) => text.replace('-32601', '-32002') },
  'a code with another status': { method: 'x', plant: (text) => text, status: 200 },
  'an error without a message': { method: 'x', plant: (text) => text.replace('Method not found', '') },
  'a missing capability without its name': {
    method: 'tasks/get',
    plant: (text) => text.replace('requiredCapabilities', 'required'),
  },
  'a result with the status of a refusal': { method: 'tools/list', plant: (text) => text, status: 400 },
  'a task that holds its state': {
    method: 'tools/call',
    params: { name: 'slow_compute', ...able },
    plant: (text) => text.replace('"taskId"', '"requestState":"x","taskId"'),
  },
  'a task inside a task': {
    method: 'tools/call',
    params: { name: 'slow_compute', ...able },
    plant: (text) => text.replace('"taskId"', '"task":{},"taskId"'),
  },
  'a request of the server in a stream': {
    method: 'tools/call',
    params: progress,
    plant: (text) => text.replace('notifications/progress', 'sampling/createMessage'),
  },
  'a notification with an id': {
    method: 'tools/call',
    params: progress,
    plant: (text) =>
      text.replace('"method":"notifications/progress"', '"id":5,"method":"notifications/progress"'),
  },
};

describe('the oracle of the wire', () => {
  test.each(Object.entries(flaws))('finds %s', async (_, { method, params = {}, plant, status }) => {
    const [response, body] = await answered(method, params);
    expect(answerFaults(response, body)).toEqual([]);
    const planted = { ...response, body: plant(response.body), status: status ?? response.status };
    expect([planted.body, planted.status]).not.toEqual([response.body, response.status]);
    expect(answerFaults(planted, body)).not.toEqual([]);
  });

  test('finds an answer without a correlation id, of another type, or with nothing in it', async () => {
    const [response, body] = await answered('tools/list');
    const { 'x-correlation-id': _, ...headers } = response.headers;
    expect(answerFaults({ ...response, headers }, body)).not.toEqual([]);
    const html = { ...response.headers, 'content-type': 'text/html' };
    expect(answerFaults({ ...response, headers: html }, body)).not.toEqual([]);
    expect(answerFaults({ ...response, body: '' }, body)).not.toEqual([]);
    expect(answerFaults({ ...response, status: 202 }, body)).not.toEqual([]);
    const problem = { ...response.headers, 'content-type': 'application/problem+json' };
    expect(answerFaults({ ...response, headers: problem, status: 500 }, body)).not.toEqual([]);
  });
});
