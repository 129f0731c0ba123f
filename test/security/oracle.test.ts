import { describe, expect, test } from 'vitest';
import type { OperationRoute } from '../../contracts/operation.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { RawBody } from '../../functions/http/message.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { cases } from '../support/effort.ts';
import type { Target } from './attacked.ts';
import { fuzzInvalid, fuzzValid } from './fuzz.ts';
import { throwaway, throwawayEntry } from './throwaway.ts';

const route = throwawayEntry.routes[0] as OperationRoute;

/** Runs both attacks on the operation; rejects with their finding. */
async function attack(target: Target): Promise<void> {
  const [entry = throwawayEntry] = target.entries;
  await fuzzValid(target, entry, route, 20);
  await fuzzInvalid(target, entry, route, 20);
}

/** The sound operation, whose answers are changed on their way. */
function changed(change: (answer: InjectedResponse) => InjectedResponse): Target {
  const target = throwaway();
  return { ...target, call: async (request) => change(await target.call(request)) };
}

const inBody = (answer: InjectedResponse, from: string, to: string) => ({
  ...answer,
  body: answer.body.replace(from, to),
});
const inHeader = (answer: InjectedResponse, name: string, value: string) => ({
  ...answer,
  headers: { ...answer.headers, [name]: value },
});
const raw = (status: number, mediaType: string, text: string) => async () => ({
  status,
  body: new RawBody(mediaType, text),
});

test('an operation without attacks of its own is attacked, and found to be sound', async () => {
  const target = throwaway();
  expect(await fuzzValid(target, throwawayEntry, route, 20)).toBe(cases(20));
  const broken = await fuzzInvalid(target, throwawayEntry, route, 100);
  expect([...broken]).toEqual(
    expect.arrayContaining([
      'path depotId: maxLength',
      'query limit: minimum',
      'query limit: required',
      'query order: enum',
      'query label.label: maxLength',
      'query: unknown',
      'body: type ',
      'body: additionalProperties ',
      'body: maximum /boxes/0/width',
      'body: required /boxes/0/width',
      'body: maxItems /boxes',
    ]),
  );
});

const planted: readonly (readonly [what: string, found: string, target: () => Target])[] = [
  ['a crash', 'answered as broken', () => throwaway({ handler: () => Promise.reject(new Error('bug')) })],
  [
    'a status that is not declared',
    'the status is not declared',
    () => throwaway({ handler: raw(202, 'application/json', '{"count":1}') }),
  ],
  [
    'an answer off its model',
    'breaks #/properties/count/type',
    () => throwaway({ handler: async () => ({ status: 200, body: { count: 'one' } }) }),
  ],
  [
    'another media type',
    'another media type than declared',
    () => throwaway({ handler: raw(200, 'text/html', '{"count":1}') }),
  ],
  [
    'an answer that is no JSON',
    'the body is no JSON',
    () => throwaway({ handler: raw(200, 'application/json', '{"count":1') }),
  ],
  [
    'a problem that is not declared',
    'the problem fence_conflict is not declared',
    () => throwaway({ handler: () => Promise.reject(new ServiceError('fence_conflict', 'Held.')) }),
  ],
  ['a body that is not checked', 'did not refuse body: type', () => throwaway({ checked: false })],
  [
    'a body that is refused for another reason',
    'did not refuse body: type',
    () =>
      throwaway({
        checked: false,
        handler: () => Promise.reject(new ServiceError('not_found', 'There is none.')),
      }),
  ],
  [
    'a parameter that is not checked',
    'did not refuse query limit: maximum',
    () => {
      const query = route.query.map(({ maximum: _maximum, ...spec }) => spec);
      const lax = throwaway({ entry: { ...throwawayEntry, routes: [{ ...route, query }] } });
      return { ...lax, entries: [throwawayEntry] };
    },
  ],
  [
    'no correlation id',
    'no correlation id',
    () =>
      changed(({ headers: { 'x-correlation-id': _id, ...headers }, ...answer }) => ({ ...answer, headers })),
  ],
  [
    'an answer that may be sniffed',
    'may be sniffed',
    () => changed((each) => inHeader(each, 'x-content-type-options', '')),
  ],
  [
    'a refusal in another form',
    'a refusal that is no problem document',
    () => changed((each) => (each.status < 400 ? each : inHeader(each, 'content-type', 'text/plain'))),
  ],
  ['a problem off its model', 'breaks', () => changed((each) => inBody(each, '"retryable":false,', ''))],
  [
    'an unknown code',
    'an unknown problem code',
    () => changed((each) => inBody(each, '"code":"', '"code":"un')),
  ],
  [
    'a code with the status of another',
    'another status than its code has',
    () => changed((each) => (each.status < 400 ? each : { ...each, status: 422 })),
  ],
  [
    'the correlation id of another request',
    'the member instance is not the one',
    () => changed((each) => inBody(each, 'urn:svc:request:', 'urn:svc:request:0')),
  ],
];

describe('the oracle finds', () => {
  test.each(planted)('%s', async (_, found, target) => {
    // fast-check wraps what it found.
    const failure = await attack(target()).then(
      () => 'nothing was found',
      (error: Error) => `${error.message} ${String(error.cause)}`,
    );
    expect(failure).toContain(found);
  });
});
