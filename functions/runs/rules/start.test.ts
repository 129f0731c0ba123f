import { describe, expect, test } from 'vitest';
import { handler, ID, NOW, startRequest } from './run.fixture.ts';
import { createRun, rejectionOf, retryPolicyOf } from './start.ts';

const fresh = { id: ID, payload: { record: 'r' }, keyHash: 'k' };

test('a new run has the requested members, and no events or results', () => {
  const scope = { productId: 'p', tenantId: 't', serviceIdentity: 's@x' };
  const request = startRequest({ scope, correlationId: 'c', tags: { a: 'b' }, operationId: 'ingestRagText' });
  expect(createRun(request, handler, fresh, NOW)).toEqual({
    run: {
      id: ID,
      handlerId: 'h',
      pluginId: 'p',
      operationId: 'ingestRagText',
      status: 'queued',
      attempt: 0,
      failures: 0,
      leaseExpirations: 0,
      retryPolicy: { maxAttempts: 1, initialDelaySeconds: 1, maxDelaySeconds: 60, backoffMultiplier: 2 },
      keyHash: 'k',
      correlationId: 'c',
      scope,
      payloadHash: 'sha256:a',
      payload: { record: 'r' },
      tags: { a: 'b' },
      createdAt: NOW,
      updatedAt: NOW,
      scheduledAt: null,
      startedAt: null,
      completedAt: null,
      cancellationRequested: false,
      requested: null,
      attempted: null,
      succeeded: null,
      failed: null,
      progress: null,
      currentStep: null,
      failureClass: null,
      error: null,
      result: { json: null },
      statusDetails: null,
      lease: null,
      endedLease: null,
      concurrencyKey: null,
      wait: null,
      outcomes: [],
      inbox: [],
      trace: [],
      lastSequenceId: '',
      taken: null,
      traced: 0,
      traceDropped: 0,
      artifacts: 0,
      counted: false,
    },
    events: [{ type: 'run.created' }],
  });
});

test('a run without a correlation id has its own id as one', () => {
  expect(createRun(startRequest(), handler, fresh, NOW).run.correlationId).toBe(ID);
});

test('a rejected run has its end, no schedule to wait for and its reason', () => {
  const request = startRequest({ scheduledAt: NOW + 1 });
  expect(createRun(request, undefined, fresh, NOW).run).toMatchObject({
    status: 'rejected',
    startedAt: NOW,
    completedAt: NOW,
    failureClass: 'handler_missing',
    error: 'No handler is registered under the id "h"',
  });
});

describe('what is registered', () => {
  test.each([
    ['no plugin named', null, handler, null],
    ['the plugin of the handler', 'p', handler, null],
    ['another plugin', 'q', handler, 'plugin_mismatch'],
    ['a plugin for a handler without one', 'p', { ...handler, pluginId: null }, 'plugin_mismatch'],
    ['nothing', 'p', undefined, 'handler_missing'],
  ] as const)('%s', (_, pluginId, facts, failureClass) => {
    expect(rejectionOf(startRequest({ pluginId }), facts)?.failureClass ?? null).toBe(failureClass);
  });
});

describe('the retry policy', () => {
  const policy = (given: Parameters<typeof startRequest>[0], facts = handler) =>
    retryPolicyOf(startRequest(given), facts);

  test("takes the request's attempts before the handler's", () => {
    const facts = { ...handler, maxAttempts: 4 };
    expect(policy({ retryPolicy: null }, facts).maxAttempts).toBe(4);
    expect(policy({ retryPolicy: {} }, facts).maxAttempts).toBe(4);
    expect(policy({ retryPolicy: { maxAttempts: 2 } }, facts).maxAttempts).toBe(2);
    expect(retryPolicyOf(startRequest(), undefined).maxAttempts).toBe(1);
  });

  test('makes one attempt of none', () => {
    expect(policy({ retryPolicy: { maxAttempts: 0 } }).maxAttempts).toBe(1);
  });

  test('raises the longest delay to the first, and takes no growth for growth by one', () => {
    expect(policy({ retryPolicy: { initialDelaySeconds: 90 } }).maxDelaySeconds).toBe(90);
    expect(policy({ retryPolicy: { maxDelaySeconds: 0 } }).maxDelaySeconds).toBe(1);
    expect(policy({ retryPolicy: { backoffMultiplier: 0 } }).backoffMultiplier).toBe(1);
    expect(policy({ retryPolicy: { backoffMultiplier: 1.5 } }).backoffMultiplier).toBe(1.5);
    expect(policy({ retryPolicy: { initialDelaySeconds: 0 } }).initialDelaySeconds).toBe(0);
  });
});
