import { expect, test } from 'vitest';
import type { ExecutionRun } from '../../../contracts/generated/models.ts';
import type { CutJournal } from '../journal/cut.ts';
import { checkSize, rerunRequest } from './request.ts';

const retryPolicy = { maxAttempts: 3, initialDelaySeconds: 1, maxDelaySeconds: 60, backoffMultiplier: 2 };
const run = {
  id: '7',
  handlerId: 'refund',
  payload: { order: 1 },
  payloadHash: 'sha256:0',
  correlationId: '7',
  scope: { productId: 'shop', tenantId: 'acme', serviceIdentity: 'worker@example.com' },
  retryPolicy,
  tags: { customer: '4' },
} as unknown as ExecutionRun;

test('takes handler, payload, scope, rules of retries and tags, and names the run', () => {
  expect(rerunRequest(run, { journal: null })).toEqual({
    handlerId: 'refund',
    payload: { order: 1 },
    scope: { productId: 'shop', tenantId: 'acme' },
    retryPolicy,
    tags: { customer: '4', rerunOf: '7' },
  });
});

test('takes a payload and a key instead, and the correlation id that a caller gave', () => {
  const given = { ...run, correlationId: 'order-1', scope: null, tags: { rerunOf: '6' } };
  expect(rerunRequest(given, { payload: null, idempotencyKey: 'k', journal: null })).toEqual({
    handlerId: 'refund',
    payload: null,
    idempotencyKey: 'k',
    correlationId: 'order-1',
    retryPolicy,
    tags: { rerunOf: '7' },
  });
});

test('a run with all its tags keeps them', () => {
  const tags = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`t${at}`, '']));
  expect(rerunRequest({ ...run, tags }, { journal: null }).tags).toEqual(tags);
});

test('needs the payload of a rejected run, which the service does not keep', () => {
  expect(() => rerunRequest({ ...run, payload: null }, { journal: null })).toThrow('--payload');
  const payloadHash = 'sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b';
  expect(rerunRequest({ ...run, payload: null, payloadHash }, { journal: null }).payload).toBeNull();
});

const cut: CutJournal = {
  segments: [{ key: 'svc.steps.0', content: [], metadata: { steps: '1' }, number: 0, version: 1 }],
  values: ['svc.step.a/b#2'],
  kept: ['a/b#2'],
  again: [],
  undone: [],
};

test('gives the segments and the values as first checkpoints', () => {
  const values = new Map([['svc.step.a/b#2', 'x'.repeat(20_000)]]);
  const request = rerunRequest(run, { journal: { cut, values } });
  expect(request.checkpoints).toEqual([
    { key: 'svc.steps.0', content: [], metadata: { steps: '1' } },
    { key: 'svc.step.a/b#2', content: 'x'.repeat(20_000) },
  ]);
  expect(() => rerunRequest(run, { journal: { cut, values: new Map() } })).toThrow(
    'no checkpoint "svc.step.a/b#2"',
  );
});

test('refuses what no start can take', () => {
  const many = Array.from({ length: 33 }, (_, at) => ({ key: `c${at}`, content: at }));
  const request = rerunRequest(run, { journal: null });
  const bytes = Buffer.byteLength(JSON.stringify(request));
  expect(() => checkSize(request, bytes)).not.toThrow();
  expect(() => checkSize(request, bytes - 1)).toThrow(`The payload is too large: ${bytes} bytes`);
  expect(() => checkSize({ ...request, checkpoints: many.slice(1) }, 1e6)).not.toThrow();
  expect(() => checkSize({ ...request, checkpoints: many }, 1e6)).toThrow('33 checkpoints of at most 32');
  expect(() => checkSize({ ...request, checkpoints: many.slice(1) }, 500)).toThrow('name an earlier step');
});
