import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { admissionId, admissionOf, queueFull, rejectionProblem, statusUri } from './admission.ts';
import { ID, NOW, queuedRun, startRequest } from './rules/run.fixture.ts';

// Callers store both ids, so neither may ever change.
test.each([
  [
    'importCollection',
    'run-portable-admission-1',
    'adm_ea8fa244dbf88f7790135d3970c3459bb01b2ea47a08452390708fe0fa2072fe',
  ],
  [
    'startExecutionRun',
    'run-portable-rejected-1',
    'adm_b1a2ca59a7bd88ed7e1c1b49e4457a0a0728263cc471e47e1e3a31970420367f',
  ],
])('the receipt of (%s, %s) has its id for ever', (operationId, resourceId, id) => {
  expect(admissionId(operationId, resourceId)).toBe(id);
  const run = queuedRun({ operationId, id: resourceId });
  expect(admissionOf(run, false).admissionId).toBe(id);
});

test('the receipt of an accepted run', () => {
  const run = queuedRun({ keyHash: 'k', failureClass: 'transient', error: 'e', updatedAt: NOW + 9 });
  expect(admissionOf(run, true)).toEqual({
    version: 'svc.admission.v1',
    admissionId: admissionId('startExecutionRun', ID),
    operationId: 'startExecutionRun',
    status: 'accepted',
    resourceId: ID,
    requestHash: 'sha256:a',
    idempotencyKeyHash: 'k',
    replayed: true,
    admittedAtUtc: '2026-01-01T00:00:00.000Z',
    statusUri: `/execution/runs/${ID}`,
    resultUri: null,
    failureClass: null,
    error: null,
  });
});

test('describes the current run: one that its handler rejected has a rejected receipt', () => {
  const run = queuedRun({ status: 'rejected', failureClass: 'x', error: 'e' });
  expect(admissionOf(run, false)).toMatchObject({ status: 'rejected', failureClass: 'x', error: 'e' });
});

const FULL = { detail: '25 of 25 runs', limit: 25, used: 25, setting: 'ExecutionRuntime:RunSharePercent' };

describe('a start that found no room', () => {
  const full = (idempotencyKey: string | null) => queueFull(startRequest({ idempotencyKey }), ID, NOW, FULL);

  test('is refused with the receipt that the run would have had', () => {
    const { code, extensions } = full(null);
    expect(code).toBe('queue_full');
    expect(extensions).toMatchObject({
      limit: 25,
      used: 25,
      setting: 'ExecutionRuntime:RunSharePercent',
      retryAfterSeconds: 1,
      admission: {
        admissionId: admissionId('startExecutionRun', ID),
        status: 'rejected',
        resourceId: ID,
        statusUri: statusUri(ID),
        requestHash: 'sha256:a',
        idempotencyKeyHash: null,
        replayed: false,
        failureClass: 'queue_full',
        error: FULL.detail,
      },
    });
  });

  test.each([
    ['portable-import-secret', '2f9c4aff', '061f8'],
    ['portable-success', '6f32bc59', 'd9c9b'],
  ])('shows only the hash of the key %s', (key, first, last) => {
    const { admission } = full(key).extensions as { admission: { idempotencyKeyHash: string } };
    expect(admission.idempotencyKeyHash).toBe(hash('sha256', key));
    expect(admission.idempotencyKeyHash.startsWith(first)).toBe(true);
    expect(admission.idempotencyKeyHash.endsWith(last)).toBe(true);
    expect(JSON.stringify(full(key).extensions)).not.toContain(key);
  });
});

describe('the answer to a rejected run', () => {
  test.each([
    ['handler_missing', 'handler_missing'],
    ['plugin_mismatch', 'plugin_mismatch'],
    ['platform', 'handler_not_routed'],
    ['anything else', 'admission_rejected'],
  ])('%s: %s', (failureClass, code) => {
    const run = queuedRun({ status: 'rejected', failureClass, error: 'why' });
    const problem = rejectionProblem(run, true);
    expect(problem).toMatchObject({ code, message: 'why' });
    expect(problem?.extensions.admission).toEqual(admissionOf(run, true));
  });

  test('nothing, where it was accepted', () => {
    expect(rejectionProblem(queuedRun(), false)).toBeNull();
    expect(rejectionProblem(queuedRun({ status: 'failed' }), false)).toBeNull();
  });
});
