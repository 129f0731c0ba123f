import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { refusalWords, ServiceError } from '../../kernel/errors.ts';
import { checkArguments } from './check-arguments.ts';

const schema: JsonObject = {
  type: 'object',
  properties: {
    collection: { type: 'string' },
    query: { type: 'string' },
    limit: { type: 'integer' },
    value: {},
    modes: { type: 'array', items: { type: 'string', enum: ['any', 'all'] } },
    advanced: {
      type: 'object',
      properties: { score: { type: 'number' }, deep: { type: 'boolean' } },
      required: ['deep'],
      additionalProperties: false,
    },
  },
  required: ['collection', 'query'],
  additionalProperties: false,
};

function wordsFor(given: JsonObject): string | null {
  try {
    checkArguments(given, schema);
    return null;
  } catch (error) {
    return refusalWords(error as ServiceError, 'The call');
  }
}

const right = { collection: 'a', query: 'b' };

describe('the check of arguments', () => {
  test.each<[given: JsonObject, words: string | null]>([
    [right, null],
    [{ ...right, limit: null, value: [1, null], modes: ['any'], advanced: { deep: true, score: 1.5 } }, null],
    [{}, 'The call must have collection, query'],
    [{ collection: null, query: 'b' }, 'The call must have collection'],
    [{ ...right, query: 1 }, '/query: must be of the type string'],
    [{ ...right, limit: 1.5 }, '/limit: must be of the type integer'],
    [{ ...right, modes: 'any' }, '/modes: must be of the type array'],
    [{ ...right, modes: ['any', 'ALL'] }, '/modes/1: must be one of any, all'],
    [{ ...right, modes: [1] }, '/modes/0: must be one of any, all'],
    [{ ...right, advanced: {} }, '/advanced: must have deep'],
    [{ ...right, advanced: { deep: true, secret: 1 } }, '/advanced: may have only score, deep'],
    [{ ...right, secret: 1 }, 'The call may have only collection, query, limit, value, modes, advanced'],
  ])('of %j', (given, words) => {
    expect(wordsFor(given)).toBe(words);
  });

  test('names few faults of many', () => {
    const modes = Array.from({ length: 1_000 }, () => 'none');
    expect(wordsFor({ ...right, modes })?.split('; ')).toHaveLength(5);
  });

  test('refuses with the code of a wrong request', () => {
    expect(() => checkArguments({}, schema)).toThrow(ServiceError);
    expect(() => checkArguments({}, schema)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });
});
