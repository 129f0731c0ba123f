import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import bundle from '../../contracts/generated/schemas/svc-public.schema.json' with { type: 'json' };
import surface from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import type { ValidatorFault } from '../../contracts/validator.ts';
import { Random } from '../../test/simulation/random.ts';
import { type FaultSchemas, schemaFaults } from './schema-faults.ts';
import { refusalBySchema } from './schema-refusal.ts';

const schemas = bundle.$defs as unknown as FaultSchemas;
const fault = (keyword: string, params: Record<string, unknown>, instancePath = '/a') => [
  { instancePath, schemaPath: '#/x', keyword, params, message: 'must be so' },
];

describe('a refusal by the schema', () => {
  test('names the place and the rule, never the value', async () => {
    const unknown = await refusalBySchema(
      null,
      fault('additionalProperties', { additionalProperty: 'x/y~z' }),
      {},
    );
    expect(unknown.extensions.errors).toEqual([
      { pointer: '/a/x~1y~0z', keyword: 'additionalProperties', detail: 'is not known here' },
    ]);
    expect(unknown.message).toBe('The request is not valid: /a/x~1y~0z: is not known here');
    const missing = await refusalBySchema(null, fault('required', { missingProperty: 'b' }), {});
    expect(missing.extensions.errors?.[0]?.pointer).toBe('/a/b');
    const long = await refusalBySchema(null, fault('maxLength', { limit: 3 }), {});
    expect(long).toMatchObject({ code: 'limit_exceeded' });
    expect(await refusalBySchema(null, null, {})).toMatchObject({ code: 'validation_failed' });
  });

  test('names all faults, the allowed values and the intended name', async () => {
    const body = { tenantId: 7, documentTypes: 'x', combine: 'both', limit: 0 };
    const faults = fault('type', { type: ['string', 'null'] }, '/tenantId');
    expect(await refusalBySchema('CanonicalDocumentQuery', faults, body)).toMatchObject({
      code: 'validation_failed',
      message:
        'The request is not valid: /tenantId: must be of the type string or null; ' +
        '/documentTypes: is not known here: did you mean documentType?; /combine: is not known here; /limit: must be >= 1',
    });
    const [faulty] = fault('enum', { allowedValues: ['eq', 'in'] }, '/op');
    const enumerated = await refusalBySchema(null, faulty === undefined ? [] : [faulty], {});
    expect(enumerated.message).toBe('The request is not valid: /op: must be one of eq, in');
  });

  test('names at most 20 faults, however many there are', async () => {
    const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x${n}`, 1]));
    const faults = fault('additionalProperties', { additionalProperty: 'x0' }, '');
    const { message, extensions } = await refusalBySchema('CanonicalDocumentQuery', faults, body);
    expect(extensions.errors).toHaveLength(20);
    expect(message.length).toBeLessThan(2_049);
  });

  test('costs the same for any number of faults with the same beginning', async () => {
    const begin = 'a'.repeat(600);
    let reads = 0;
    const body = new Proxy(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${begin}${n}`, 1])), {
      get: (target, name) => ((reads += 1), Reflect.get(target, name) as unknown),
    });
    const faults = fault('additionalProperties', { additionalProperty: `${begin}0` }, '');
    const { message, extensions } = await refusalBySchema('CanonicalDocumentQuery', faults, body);
    expect(extensions.errors).toHaveLength(1);
    expect(reads).toBeLessThan(30);
    expect(message.length).toBeLessThan(2_049);
  });
});

/** One change of a value at a place that the drawing chooses. */
function changed(value: unknown, draw: Random): unknown {
  if (typeof value !== 'object' || value === null || draw.chance(0.2))
    return draw.pick<unknown>([7, 0, -1, '', 'x', [], {}, true, 1.5, 1e9, null]);
  if (Array.isArray(value)) {
    const at = draw.below(Math.max(1, value.length));
    return value.length === 0 ? [1] : value.with(at, changed(value[at], draw));
  }
  const members = Object.entries(value);
  if (members.length === 0) return { x: 1 };
  const [name, member] = draw.pick(members);
  if (draw.chance(0.2)) return Object.fromEntries(members.filter(([each]) => each !== name));
  if (draw.chance(0.2)) return { ...value, [`${name}s`]: 1 };
  return { ...value, [name]: changed(member, draw) };
}

describe('the faults of a refused value are those of ajv', () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false, ownProperties: true, validateFormats: false });
  ajv.addSchema({ $id: 'svc', $defs: bundle.$defs });
  const models = [...new Set(surface.operations.flatMap(({ request }) => request?.schema ?? []))];
  // A nullable member reports both of its branches, and a refused name the rule that it breaks.
  const isReported = (keyword: string, type: unknown) =>
    !['anyOf', 'uniqueItems', 'propertyNames'].includes(keyword) && type !== 'null';
  const shown = ({
    instancePath,
    keyword,
    params,
  }: Pick<ValidatorFault, 'instancePath' | 'keyword' | 'params'>) =>
    JSON.stringify([keyword, instancePath, params['missingProperty'], params['additionalProperty']]);

  test.each(models)('%s', (model) => {
    const validate = ajv.getSchema(`svc#/$defs/${model}`);
    if (validate === undefined) throw new Error(`there is no schema ${model}`);
    const draw = new Random(models.indexOf(model));
    const { examples = [{}] } = (bundle.$defs as Record<string, { examples?: unknown[] }>)[model] ?? {};
    for (let n = 0; n < 40; n += 1) {
      let value: unknown = draw.pick(examples);
      for (let times = draw.below(4); times >= 0; times -= 1) value = changed(value, draw);
      void validate(value);
      const wanted = (validate.errors ?? []).filter(
        ({ keyword, params, propertyName }) =>
          propertyName === undefined && isReported(keyword, params['type']),
      );
      const found = [...schemaFaults(schemas, schemas[model] ?? {}, value)].filter(({ keyword }) =>
        isReported(keyword, undefined),
      );
      expect(new Set(found.map(shown)), JSON.stringify(value)).toEqual(new Set(wanted.map(shown)));
    }
  });
});
