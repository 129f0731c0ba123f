import { describe, expect, it } from 'vitest';
import { readSource } from './generate/source.ts';
import { requestValidators, responseValidators } from './generated/validators/execution.js';
import type { Validator } from './validator.ts';

const { models } = readSource(process.cwd());

/** Keyword and place of the first fault, or nothing if the value is valid. */
function fault(validator: Validator, value: unknown): string | undefined {
  if (validator(value)) return undefined;
  const [first] = validator.errors ?? [];
  return `${first?.keyword} ${first?.instancePath}`;
}

const lease = { leaseKey: 'k', leaseToken: 't', workerId: 'w' };

it('a completion answers a run, with the next lease beside its members', () => {
  const [run, completion] = ['ExecutionRun', 'ExecutionExternalWorkerCompletion'].map(
    (name) => models.get(name)?.schema,
  );
  const { next, ...members } = completion?.properties ?? {};
  expect(next).toMatchObject({ $ref: '#/$defs/ExecutionExternalWorkerLease' });
  expect(members).toEqual(run?.properties);
  expect(completion?.required).toEqual(run?.required);
});

describe('a start', () => {
  const start = (members: object) =>
    fault(requestValidators.startExecutionRun, { handlerId: 'h', ...members });

  it.each<[string, object, string | undefined]>([
    ['nothing but its handler', {}, undefined],
    ['any JSON as payload', { payload: [1, 'a', null] }, undefined],
    [
      'null for everything optional',
      {
        pluginId: null,
        payload: null,
        idempotencyKey: null,
        correlationId: null,
        scope: null,
        scheduledAtUtc: null,
        retryPolicy: null,
        tags: null,
      },
      undefined,
    ],
    ['no attempts, which mean one', { retryPolicy: { maxAttempts: 0 } }, undefined],
    ['too many attempts', { retryPolicy: { maxAttempts: 26 } }, 'maximum /retryPolicy/maxAttempts'],
    ['half an attempt', { retryPolicy: { maxAttempts: 1.5 } }, 'type /retryPolicy/maxAttempts'],
    ['a long delay', { retryPolicy: { maxDelaySeconds: 86_400.5 } }, 'maximum /retryPolicy/maxDelaySeconds'],
    ['a misspelt member', { handler: 'h' }, 'additionalProperties '],
    ['half a scope', { scope: { productId: 'p' } }, 'required /scope'],
    ['a moment without its offset', { scheduledAtUtc: '2026-01-02T03:04:05' }, 'format /scheduledAtUtc'],
    ['an empty tag', { tags: { a: '' } }, undefined],
    ['a tag that is no text', { tags: { a: 1 } }, 'type /tags/a'],
    ['a tag without a name', { tags: { '': 'a' } }, 'minLength /tags'],
    ['a long tag', { tags: { a: 'x'.repeat(513) } }, 'maxLength /tags/a'],
    [
      'many tags',
      { tags: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`t${at}`, ''])) },
      'maxProperties /tags',
    ],
  ])('with %s', (_, members, expected) => expect(start(members)).toBe(expected));
});

describe('a claim', () => {
  const claim = (members: object) =>
    fault(requestValidators.leaseExternalExecutionRun, { workerId: 'w', handlerIds: ['h'], ...members });

  it.each<[string, object, string | undefined]>([
    ['the least', {}, undefined],
    ['nulls', { runId: null, ttlSeconds: null, waitSeconds: null }, undefined],
    ['no handlers', { handlerIds: [] }, 'minItems /handlerIds'],
    ['null for handlers', { handlerIds: null }, 'type /handlerIds'],
    ['a handler twice', { handlerIds: ['h', 'h'] }, 'uniqueItems /handlerIds'],
    [
      'many handlers',
      { handlerIds: Array.from({ length: 33 }, (_, at) => `h${at}`) },
      'maxItems /handlerIds',
    ],
    ['a fraction of a second', { ttlSeconds: 0.5 }, undefined],
    ['no time', { ttlSeconds: 0 }, 'exclusiveMinimum /ttlSeconds'],
    ['a long wait', { waitSeconds: 20.5 }, 'maximum /waitSeconds'],
  ])('with %s', (_, members, expected) => expect(claim(members)).toBe(expected));
});

describe('the requests of a worker', () => {
  const report = (update: object) =>
    fault(requestValidators.reportExternalExecutionLease, { ...lease, update });
  const complete = (result: object) =>
    fault(requestValidators.completeExternalExecutionLease, { ...lease, result });

  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ status: 'running', progress: 1, requested: 0, statusDetails: {} }, undefined],
    [{ status: null, progress: null, failed: null, error: null, statusDetails: null }, undefined],
    [{ status: 'succeeded' }, 'enum /update/status'],
    [{ progress: 1.01 }, 'maximum /update/progress'],
    [{ attempted: -1 }, 'minimum /update/attempted'],
    [{ attempted: 1e300 }, 'maximum /update/attempted'],
    [{ statusDetails: [] }, 'type /update/statusDetails'],
  ])('as a report of %j', (update, expected) => expect(report(update)).toBe(expected));

  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ status: null }, undefined],
    [{ status: 'timed_out', failureClass: 'timeout' }, undefined],
    [{ status: 'running' }, 'enum /result/status'],
    [{ status: 'waiting' }, 'enum /result/status'],
  ])('as a completion of %j', (result, expected) => expect(complete(result)).toBe(expected));

  it('with a token', () => {
    const heartbeat = (members: object) =>
      fault(requestValidators.heartbeatExternalExecutionLease, { ...lease, ...members });
    expect(heartbeat({})).toBeUndefined();
    expect(heartbeat({ leaseToken: '' })).toBe('minLength /leaseToken');
    expect(heartbeat({ leaseToken: 'x'.repeat(1001) })).toBe('maxLength /leaseToken');
    expect(heartbeat({ leaseToken: null })).toBe('type /leaseToken');
  });
});

describe('an answer', () => {
  it('shows a token only as the service makes them', () => {
    const validator = responseValidators['leaseExternalExecutionRun:200'];
    const given = models.get('ExecutionExternalWorkerLease')?.schema.examples?.[0] as object;
    expect(fault(validator, given)).toBeUndefined();
    expect(fault(validator, { ...given, leaseToken: 'T'.repeat(64) })).toBe('pattern /leaseToken');
  });

  it('holds at most 200 events', () => {
    const validator = responseValidators['getExecutionRunHistory:200'];
    expect(
      fault(
        validator,
        Array.from({ length: 201 }, () => null),
      ),
    ).toBe('maxItems ');
  });
});
