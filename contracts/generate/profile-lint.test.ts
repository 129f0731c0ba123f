import { describe, expect, it } from 'vitest';
import { fixtureSource } from './fixture.ts';
import { lintProfile } from './profile-lint.ts';
import type { Json, Schema } from './schema.ts';
import { collectModels, readSource } from './source.ts';

const source = fixtureSource(readSource(process.cwd()).catalogSchema);

/** The faults after one model of the fixture was changed. */
function faultsWith(name: string, change: (schema: Schema) => Schema): readonly string[] {
  const models = new Map(source.models);
  const model = models.get(name);
  if (model === undefined) throw new Error(`the fixture has no ${name}`);
  models.set(name, { ...model, schema: change(model.schema) });
  return lintProfile({ ...source, models });
}

/** The faults after a member was added to the request model, or to the answer model. */
const withMember = (name: string, member: Schema, required = false) =>
  faultsWith(name, (schema) => ({
    ...schema,
    properties: { ...schema.properties, added: { description: 'Added.', ...member } },
    required: required ? [...(schema.required ?? []), 'added'] : (schema.required ?? []),
  }));
const inRequest = (member: Schema, required = false) => withMember('ParcelQuery', member, required);
const inAnswer = (member: Schema, required = true) => withMember('BoxParcel', member, required);

describe('the profile', () => {
  it('has no fault in the fixture', () => expect(lintProfile(source)).toEqual([]));

  const string: Schema = { type: ['string', 'null'], maxLength: 9 };
  it.each<[string, Schema]>([
    ['an unbounded text', { type: ['string', 'null'] }],
    ['an unbounded array', { type: ['array', 'null'], items: { type: 'integer' } }],
    ['an array of anything', { type: ['array', 'null'], maxItems: 3 }],
    ['an unbounded item', { type: ['array', 'null'], maxItems: 3, items: { type: 'string' } }],
    [
      'an unbounded map',
      {
        type: ['object', 'null'],
        propertyNames: { maxLength: 9 },
        additionalProperties: { type: 'integer' },
      },
    ],
    [
      'a map with unbounded names',
      {
        type: ['object', 'null'],
        maxProperties: 3,
        propertyNames: {},
        additionalProperties: { type: 'integer' },
      },
    ],
    [
      'a map without names',
      { type: ['object', 'null'], maxProperties: 3, additionalProperties: { type: 'integer' } },
    ],
    ['a free object without a bound', { type: ['object', 'null'] }],
    ['anything without a bound', {}],
    ['a model inside a member', { type: ['object', 'null'], properties: {}, additionalProperties: false }],
    ['two types', { type: ['string', 'integer'], maxLength: 9 }],
    ['null before the type', { type: ['null', 'integer'] }],
    ['another format', { ...string, format: 'uri' }],
    ['another keyword', { ...string, contentEncoding: 'base64' } as Schema],
    ['anyOf of two models', { anyOf: [{ $ref: '#/$defs/ParcelQuery' }, { $ref: '#/$defs/Parcel' }] }],
    ['an open pattern', { ...string, pattern: '[a-z]' }],
    ['a slow pattern', { ...string, pattern: '^(a+)+$' }],
    ['an optional member that refuses null', { type: 'string', maxLength: 9 }],
    ['an optional enum that refuses null', { enum: ['a'] }],
  ])('refuses %s', (_, member) => expect(inRequest(member)).not.toEqual([]));

  it('takes what it asks for', () => {
    expect(inRequest(string)).toEqual([]);
    expect(inRequest({ ...string, pattern: '^[a-z]*$' })).toEqual([]);
    expect(inAnswer(string)).toEqual([]);
    expect(inAnswer({ type: 'object', 'x-svc-max-bytes': 9 })).toEqual([]);
  });

  it('refuses arrays and maps that a request must have, unless they must not be empty', () => {
    expect(inRequest({ type: 'array', maxItems: 3, items: { type: 'integer' } }, true)).toHaveLength(1);
    const some: Schema = { type: 'array', minItems: 1, maxItems: 3, items: { type: 'integer' } };
    expect(inRequest(some, true)).toEqual([]);
  });

  it('refuses members of an answer that may be missing', () =>
    expect(inAnswer(string, false)).toHaveLength(1));

  const edits: readonly [string, string, object][] = [
    ['an open request', 'ParcelQuery', { additionalProperties: true }],
    ['a closed answer', 'BoxParcel', { additionalProperties: false }],
    ['a sparse request', 'ParcelQuery', { 'x-svc-sparse': 'because' }],
    ['no description', 'BoxParcel', { description: undefined }],
    ['no example', 'BoxParcel', { examples: undefined }],
    ['two examples', 'BoxParcel', { examples: [{}, {}] as Json[] }],
    ['a member without a description', 'SecretAnswer', { properties: { any: { 'x-svc-max-bytes': 9 } } }],
    ['a required member that is nowhere', 'BoxParcel', { required: ['kind', 'width', 'height'] }],
    ['a union without a type', 'Parcel', { type: undefined }],
    ['a union without discriminator', 'Parcel', { discriminator: undefined }],
    ['a union by another member', 'Parcel', { discriminator: { propertyName: 'width' } }],
    ['a union by a member that may be missing', 'BoxParcel', { required: ['width'] }],
    [
      'a union whose values repeat',
      'TubeParcel',
      { properties: { kind: { description: 'Kind.', const: 'box' } }, required: ['kind'] },
    ],
  ];
  it.each(edits)('refuses %s', (_, name, edit) => {
    const clean = (schema: Schema) =>
      Object.fromEntries(Object.entries({ ...schema, ...edit }).filter(([, value]) => value !== undefined));
    expect(faultsWith(name, clean)).not.toEqual([]);
  });

  it('refuses a model that no operation uses and one that both requests and answers use', () => {
    const [first, ...others] = source.catalog.operations;
    if (first === undefined) throw new Error('the fixture is empty');
    const unused = { ...source, catalog: { ...source.catalog, operations: [first] } };
    expect(lintProfile(unused)).toContainEqual(
      expect.stringContaining('ParcelQuery is not used by any operation'),
    );
    const answer = [
      { status: 200, mediaType: 'application/json', schema: 'ParcelQuery', description: 'Both.' },
    ];
    const both = {
      ...source,
      catalog: { ...source.catalog, operations: [{ ...first, responses: answer }, ...others] },
    };
    expect(lintProfile(both)).toContainEqual(
      expect.stringContaining('ParcelQuery has members, so it must not be in both'),
    );
  });
});

describe('reading models', () => {
  const schema: Schema = { type: 'integer' };

  it('refuses a name that two files define', () => {
    expect(() => collectModels({ a: { Thing: schema }, b: { Thing: schema } })).toThrow(
      'is defined in a and in b',
    );
  });

  it.each(['#/$defs/Nowhere', 'b.schema.json#/$defs/Thing', 'https://example.com/x', '#/properties/a'])(
    'refuses a reference to %s',
    ($ref) => {
      expect(() => collectModels({ a: { Thing: { $ref } } })).toThrow('which does not exist');
    },
  );
});
