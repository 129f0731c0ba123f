import { describe, expect, test, vi } from 'vitest';
import { fixtureSource } from '../../contracts/generate/fixture.ts';
import type { Json, Schema } from '../../contracts/generate/schema.ts';
import { operations } from '../../contracts/generated/operations.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import { forAll, patienceMs } from '../support/effort.ts';
import { valid } from './arbitrary.ts';
import { contractModels, SchemaSet } from './schema-set.ts';
import { violations } from './violations.ts';

vi.setConfig({ testTimeout: patienceMs });

/** Values of each model. A nightly run draws five times as many. */
const DRAWS = 4;

/** Every rule at once, so that the arbitraries are known to obey and to break each of them. */
const everyRule: Record<string, Schema> = {
  Every: {
    type: 'object',
    additionalProperties: false,
    properties: {
      word: { type: 'string', minLength: 2, maxLength: 5 },
      form: { type: 'string', maxLength: 20, pattern: '^[a-f]{1,8}$' },
      moment: { type: ['string', 'null'], format: 'date-time', maxLength: 40 },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      share: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      flag: { type: 'boolean' },
      kind: { enum: ['a', 'b', null] },
      fixed: { const: 'ok' },
      set: { type: 'array', minItems: 1, maxItems: 4, uniqueItems: true, items: { $ref: '#/$defs/Word' } },
      map: {
        type: 'object',
        minProperties: 1,
        maxProperties: 3,
        propertyNames: { minLength: 1, maxLength: 4 },
        additionalProperties: { type: 'integer', minimum: 0 },
      },
      free: { 'x-svc-max-bytes': 100 },
      object: { type: 'object', 'x-svc-max-bytes': 100 },
      maybe: { anyOf: [{ $ref: '#/$defs/Box' }, { type: 'null' }] },
      shape: {
        type: 'object',
        oneOf: [{ $ref: '#/$defs/Box' }, { $ref: '#/$defs/Tube' }],
        discriminator: { propertyName: 'kind' },
      },
      inner: { anyOf: [{ $ref: '#/$defs/Every' }, { type: 'null' }] },
    },
    required: ['word', 'set'],
  },
  Word: { type: 'string', minLength: 1, maxLength: 3 },
  Box: {
    type: 'object',
    properties: { kind: { const: 'box' }, width: { type: 'integer' } },
    required: ['kind'],
  },
  Tube: {
    type: 'object',
    properties: { kind: { const: 'tube' }, length: { type: 'number' } },
    required: ['kind'],
  },
};

const sets: readonly (readonly [string, SchemaSet])[] = [
  ['the contract', contractModels()],
  ['a throw-away contract', new SchemaSet(fixtureModels())],
  ['every rule', new SchemaSet(everyRule)],
];

function fixtureModels(): Record<string, Schema> {
  const models = [...fixtureSource({}).models.values()];
  return Object.fromEntries(models.map(({ name, schema }) => [name, schema]));
}

/** The values that a check wrongly accepts, of all that break one rule of JSON Schema. */
function passing(set: SchemaSet, model: string, value: Json, check: (broken: Json) => boolean): string[] {
  const broken = violations(set, model, value).filter(({ bySchema }) => bySchema);
  return broken.filter((each) => check(each.value)).map(({ label }) => label);
}

describe.each(sets)('values drawn from the models of %s', (_, set) => {
  test.each([...set.models.keys()])(
    '%s: what is drawn as valid is valid, what is drawn as broken is not',
    async (name) => {
      await forAll(name, DRAWS, valid(set, name), async (value) => {
        expect(set.fault(name, value)).toBeNull();
        expect(passing(set, name, value, (broken) => set.fault(name, broken) === null)).toEqual([]);
      });
    },
  );
});

test('every rule that a schema can hold is broken', async () => {
  const set = new SchemaSet(everyRule);
  const broken = new Set<string>();
  await forAll('every rule', 150, valid(set, 'Every'), async (value) => {
    for (const { rule } of violations(set, 'Every', value)) broken.add(rule);
  });
  expect([...broken].sort()).toEqual(
    (
      'additionalProperties discriminator enum exclusiveMaximum exclusiveMinimum format maxItems maxLength maxProperties ' +
      'maximum minItems minLength minProperties minimum pattern propertyNames required type uniqueItems x-svc-max-bytes'
    ).split(' '),
  );
});

describe('the validators of the service agree with the published models', () => {
  const set = contractModels();
  const withBody = Object.values(operations).filter(({ requestSchema }) => requestSchema !== null);

  test.each(withBody)('on the request of $id', async ({ id, group, requestSchema }) => {
    const validate = (await loadValidators[group]()).requestValidators[id];
    const model = requestSchema ?? '';
    await forAll(id, DRAWS, valid(set, model), async (value) => {
      expect(validate?.(value)).toBe(true);
      expect(passing(set, model, value, (broken) => validate?.(broken) === true)).toEqual([]);
    });
  });
});

test('a keyword that the attacks do not know stops them', () => {
  const set = new SchemaSet({ A: { type: 'string', maxLength: 3 } });
  const strange = { type: 'object', if: {} } as Schema;
  expect(() => set.resolve(strange)).toThrow('if, which the attacks do not know');
  expect(() => set.resolve({ $ref: '#/$defs/A', maxLength: 2 })).toThrow('stands beside maxLength');
});
