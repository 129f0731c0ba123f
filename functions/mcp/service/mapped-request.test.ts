import { describe, expect, test } from 'vitest';
import { invalidMember, refusalWords, ServiceError } from '../../kernel/errors.ts';
import { argumentPointer, mappedRequest, refusalOfTool, spelledRequest } from './mapped-request.ts';
import type { ToolMap } from './tool-map.ts';

const map: ToolMap = {
  takes: { collection: '/collection', query: '/lexical/query', limit: '/limit' },
  advanced: { matchMode: '/lexical/matchMode', minScore: '/lexical/minScore' },
  defaults: { '/limit': 10 },
  answer: {},
  isList: false,
};

describe('the request that arguments mean', () => {
  test('has each argument at its place, and defaults for those that are absent or null', () => {
    expect(mappedRequest(map, { collection: 'a', query: 'b', advanced: { matchMode: 'all' } })).toEqual({
      collection: 'a',
      lexical: { query: 'b', matchMode: 'all' },
      limit: 10,
    });
    expect(mappedRequest(map, { query: null, limit: null, advanced: { minScore: null } })).toEqual({
      limit: 10,
    });
    expect(mappedRequest(map, { limit: 3 })).toEqual({ limit: 3 });
  });

  test('has no member of another name, not even one of every object', () => {
    const given = JSON.parse('{"__proto__":{"limit":1},"vector":{},"advanced":{"toString":1}}') as object;
    expect(mappedRequest(map, given as never)).toEqual({ limit: 10 });
  });

  test('changes neither arguments nor map', () => {
    const given = { query: 'b', advanced: { minScore: 1 } };
    mappedRequest(map, given);
    expect(given).toEqual({ query: 'b', advanced: { minScore: 1 } });
    expect(map.defaults).toEqual({ '/limit': 10 });
  });

  test('keeps the spelling of numbers where the operation needs it', () => {
    const flat = { ...map, takes: { count: '/count', other: '/other' }, advanced: { most: '/most' } };
    const text = '{"other":1.0,"advanced":{"most":1e2},"count":2.50}';
    expect(spelledRequest(flat, text, ['count', 'most', 'limit'])).toBe(
      '{"count":2.50,"most":1e2,"limit":10}',
    );
  });
});

describe('the pointers of a refusal', () => {
  test('lead to arguments', () => {
    expect(argumentPointer(map, '/lexical/query')).toBe('/query');
    expect(argumentPointer(map, '/lexical/matchMode')).toBe('/advanced/matchMode');
    expect(argumentPointer(map, '/limit/0')).toBe('/limit/0');
    expect(argumentPointer(map, '/limits')).toBe(null);
    expect(argumentPointer(map, '/vector')).toBe(null);
    const keyed = { ...map, takes: { idempotencyKey: '/idempotencyKey' } };
    expect(argumentPointer(keyed, '/Idempotency-Key')).toBe('/idempotencyKey');
  });

  test('are those of the tool, with the code and the other members of the refusal', () => {
    const refused = refusalOfTool(map, invalidMember('/lexical/query', 'must not be blank'));
    expect(refused).toBeInstanceOf(ServiceError);
    expect((refused as ServiceError).code).toBe('validation_failed');
    expect(refusalWords(refused as ServiceError, 'The call')).toBe('/query: must not be blank');
    const hidden = refusalOfTool(map, invalidMember('/vector', 'is wrong')) as ServiceError;
    expect(refusalWords(hidden, 'The call')).toBe('The call is wrong');
    const absent = new ServiceError('not_found', 'There is no such collection.');
    expect(refusalOfTool(map, absent)).toBe(absent);
  });
});
