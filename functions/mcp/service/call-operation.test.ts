import { expect, test } from 'vitest';
import { operations } from '../../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../../contracts/operation.ts';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import { loadOf } from '../../compose/load-class.ts';
import { createBytesInFlight } from '../../http/bytes-in-flight.ts';
import type { LineRequest } from '../../http/class-line.ts';
import { createLargeAnswers } from '../../http/large-answers.ts';
import { createRateLimits } from '../../http/rate-limits.ts';
import { RequestLine } from '../../http/request-line.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { RequestCapacity } from '../capacity.ts';
import type { McpContext } from '../catalog.ts';
import { callAs, type ServiceOperations } from './call-operation.ts';

/** The turns of the event loop that lie between two large answers. */
const TURNS = 64;

const LARGE = new JsonText(JSON.stringify('x'.repeat(2 * 1024 * 1024)));

test('large answers become results one by one, with turns of the event loop for other calls between them', async () => {
  const callbacks: (() => void)[] = [];
  const nextTurn = async () => {
    for (const callback of callbacks.splice(0)) callback();
    // Let every call proceed that needs no further turn.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const shared = {
    limits: createRateLimits({ operations, rateLimit: null, world: new ManualWorld() }),
    rateClass: 'mcp',
    bytes: createBytesInFlight({ perProcess: Infinity, perCaller: Infinity }),
    large: createLargeAnswers((callback) => callbacks.push(callback)),
    line: new RequestLine(new ManualWorld(), () => {}, Infinity),
    trustedProxyHops: 0,
  };
  const service = { call: () => Promise.resolve({ status: 200, body: LARGE }) };
  const made: string[] = [];
  const ask = async (principal: string) => {
    const caller = { kind: 'workload', principal } as const;
    const capacity = new RequestCapacity(shared, requestOf());
    capacity.books.open(caller.principal);
    const context = { caller, capacity: capacity.ofCall, matched: () => {} } as unknown as McpContext;
    const entry = operations.queryRecords;
    const { text } = await callAs(service as unknown as ServiceOperations, entry, {}, context);
    expect(text).toBe(LARGE.text);
    made.push(principal);
  };
  const all = ['busy', 'busy', 'busy', 'other'].map(ask);
  await nextTurn();
  const order = [made.splice(0)];
  for (let round = 1; round < 4; round += 1) {
    for (let turn = 1; turn < TURNS; turn += 1) await nextTurn();
    expect(made).toEqual([]);
    await nextTurn();
    order.push(made.splice(0));
  }
  expect(order).toEqual([['busy'], ['busy'], ['other'], ['busy']]);
  await Promise.all(all);
});

test('a bulk call waits in the queue of bulk work, and other calls proceed at once', async () => {
  const world = new ManualWorld();
  const entered: string[] = [];
  class Line extends RequestLine {
    override enter(request: LineRequest) {
      entered.push(request.loadClass);
      return super.enter(request);
    }
  }
  const shared = {
    limits: createRateLimits({ operations, rateLimit: null, world }),
    rateClass: 'mcp',
    bytes: createBytesInFlight({ perProcess: Infinity, perCaller: Infinity }),
    large: createLargeAnswers(),
    line: new Line(world, () => {}, 1),
    trustedProxyHops: 0,
    loadOf,
  };
  const call = () => Promise.resolve({ status: 200, body: new JsonText('null') });
  const service = { call } as unknown as ServiceOperations;
  const ask = async (entry: OperationEntry) => {
    const caller = { kind: 'workload', principal: 'p' } as const;
    const capacity = new RequestCapacity(shared, requestOf());
    await capacity.enter();
    capacity.books.open(caller.principal);
    const context = { caller, capacity: capacity.ofCall, matched: () => {} } as unknown as McpContext;
    await callAs(service, entry, {}, context);
    capacity.books.leave();
    return entered.splice(0);
  };
  for (const entry of Object.values(operations)) {
    const isBulk = loadOf(entry)?.loadClass === 'bulk';
    expect([entry.id, ...(await ask(entry))]).toEqual([entry.id, 'usual', ...(isBulk ? ['bulk'] : [])]);
  }
  // The one place is free again after each.
  expect(shared.line.waiting).toBe(0);
});

function requestOf() {
  return {
    method: 'POST',
    target: '/mcp',
    httpVersion: '1.1',
    rawHeaders: [],
    socketAddress: '127.0.0.1',
    body: (async function* () {})(),
    proceed: () => {},
    signal: new AbortController().signal,
  };
}
