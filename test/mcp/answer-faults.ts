import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { isJsonObject } from '../../functions/kernel/json-kinds.ts';
import { messagesOf } from './support.ts';

/** The oracle of the wire: rules that every answer of the endpoint must keep, for any request. */

const statuses: Readonly<Record<number, readonly number[]>> = {
  [-32700]: [400],
  [-32600]: [400],
  [-32601]: [404],
  [-32602]: [200, 400],
  [-32603]: [200],
  [-32020]: [400],
  [-32021]: [400],
  [-32022]: [400],
};

const problemStatuses = new Set([400, 401, 403, 405, 413, 415, 431]);

/** `body` is the body of the request, if it is a JSON value. The faults are sentences. */
export function answerFaults(response: InjectedResponse, body: unknown): string[] {
  const { status, headers } = response;
  const type = headers['content-type'];
  if (!headers['x-correlation-id']) return ['no correlation id'];
  if (type === 'application/problem+json')
    return problemStatuses.has(status) ? [] : [`a problem document with ${status}`];
  if (status === 202) return response.body === '' ? [] : ['202 with a body'];
  const messages = messagesOf(response);
  const last = messages.at(-1);
  if (!last) return [`${status} without a message`];
  if (type === 'application/json' && messages.length !== 1) return ['several messages as JSON'];
  if (type !== 'application/json' && type !== 'text/event-stream') return [`the type ${type}`];
  return [
    ...messages.slice(0, -1).flatMap(notificationFaults),
    ...idFaults(last, body),
    ...(isJsonObject(last['error']) ? errorFaults(last['error'], status, messages.length) : []),
    ...(isJsonObject(last['result']) ? resultFaults(last['result'], methodOf(body), status) : []),
    ...(Object.hasOwn(last, 'result') === Object.hasOwn(last, 'error')
      ? ['not one of result and error']
      : []),
    ...(last['jsonrpc'] === '2.0' ? [] : ['not JSON-RPC 2.0']),
  ];
}

function notificationFaults(message: Record<string, unknown>): string[] {
  const method = message['method'];
  const isKnown =
    method === 'notifications/progress' || method === 'notifications/subscriptions/acknowledged';
  return isKnown && !Object.hasOwn(message, 'id') ? [] : ['a message before the response is no notification'];
}

function idFaults(message: Record<string, unknown>, body: unknown): string[] {
  const sent = isJsonObject(body) ? body['id'] : undefined;
  const isReadable = typeof sent === 'string' || Number.isSafeInteger(sent);
  if (!isReadable) return Object.hasOwn(message, 'id') ? ['an id that was not sent'] : [];
  // A body that is refused before it is read answers without an id.
  const isUnread = isJsonObject(message['error']) && message['error']['code'] === -32700;
  return message['id'] === sent || isUnread ? [] : ['another id than that of the request'];
}

function errorFaults(error: Record<string, unknown>, status: number, messages: number): string[] {
  const { code, message, data } = error;
  const faults: string[] = [];
  if (typeof message !== 'string' || message === '') faults.push('an error without a message');
  const expected = statuses[Number(code)];
  if (!expected) faults.push(`the code ${String(code)}`);
  // The status of a stream was sent before the error.
  else if (messages === 1 && !expected.includes(status)) faults.push(`${String(code)} with ${status}`);
  if (code === -32021 && !(isJsonObject(data) && isJsonObject(data['requiredCapabilities'])))
    faults.push('-32021 without the required capabilities');
  if (code === -32022 && !(isJsonObject(data) && Array.isArray(data['supported'])))
    faults.push('-32022 without the supported versions');
  return faults;
}

const cached = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

function resultFaults(result: Record<string, unknown>, method: unknown, status: number): string[] {
  const { resultType, ttlMs, cacheScope } = result;
  const faults: string[] = [];
  if (status !== 200) faults.push(`a result with ${status}`);
  if (!['complete', 'input_required', 'task'].includes(String(resultType))) faults.push('no result type');
  const meta = result['_meta'];
  if (!isJsonObject(meta) || !meta['io.modelcontextprotocol/serverInfo']) faults.push('no server info');
  const isCached = cached.has(String(method)) && resultType === 'complete';
  if (isCached && !(Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0)) faults.push('no time to live');
  if (isCached && cacheScope !== 'public' && cacheScope !== 'private') faults.push('no cache scope');
  if (!isCached && cacheScope !== undefined) faults.push('a cache scope where none belongs');
  if (resultType === 'input_required' && !result['inputRequests'] && !result['requestState'])
    faults.push('a question that asks nothing');
  const forbidden = ['task', 'result', 'error', 'inputRequests', 'requestState', 'content', 'ttl'];
  if (resultType === 'task') faults.push(...forbidden.filter((name) => name in result));
  return faults;
}

function methodOf(body: unknown): unknown {
  return isJsonObject(body) ? body['method'] : undefined;
}
