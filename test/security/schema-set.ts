import { join } from 'node:path';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDateTime } from '../../contracts/date-time.ts';
import { REFERENCE, referenceName, type Schema } from '../../contracts/generate/schema.ts';
import { readSource } from '../../contracts/generate/source.ts';
import bundle from '../../contracts/generated/schemas/svc-public.schema.json' with { type: 'json' };

/** The rules of JSON Schema that the arbitraries can obey and break. */
const rules = (
  '$ref type const enum properties required additionalProperties propertyNames maxProperties minProperties items ' +
  'minItems maxItems uniqueItems minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum ' +
  'anyOf oneOf discriminator x-svc-max-bytes x-svc-binary'
).split(' ');
const annotations =
  'title description default examples deprecated x-svc-sparse x-svc-verbatim x-svc-preview x-svc-preview-values'.split(
    ' ',
  );
const known = new Set([...rules, ...annotations]);

/** The models of a contract, with a judge of its own: the validators that the service uses are not asked. */
export class SchemaSet {
  readonly models: ReadonlyMap<string, Schema>;
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(models: Readonly<Record<string, Schema>>) {
    this.models = new Map(Object.entries(models));
    this.#ajv = new Ajv2020({ strict: true, ownProperties: true, discriminator: true });
    this.#ajv.addFormat('date-time', isDateTime);
    this.#ajv.addVocabulary(['x-svc-max-bytes', 'x-svc-sparse', 'x-svc-binary', 'x-svc-verbatim']);
    this.#ajv.addVocabulary(['x-svc-preview', 'x-svc-preview-values']);
    this.#ajv.addSchema({ $id: 'set', $defs: models });
  }

  model(name: string): Schema {
    const schema = this.models.get(name);
    if (schema === undefined) throw new Error(`the contract has no model ${name}`);
    return schema;
  }

  /** The schema behind a reference. A keyword that this code does not understand would stay untested. */
  resolve(schema: Schema): Schema {
    const strange = Object.keys(schema).filter((keyword) => !known.has(keyword));
    if (strange.length > 0)
      throw new Error(`a schema uses ${strange.join(', ')}, which the attacks do not know`);
    const reference = referenceName(schema);
    if (reference === undefined) return schema;
    const beside = rules.filter((rule) => rule !== '$ref' && rule in schema);
    if (beside.length > 0) throw new Error(`a reference to ${reference} stands beside ${beside.join(', ')}`);
    return this.resolve(this.model(reference));
  }

  /** The fault of the value, or `null`. */
  fault(name: string, value: unknown): string | null {
    const validate = this.#compiled.get(name) ?? this.#ajv.getSchema(`set${REFERENCE}${name}`);
    if (validate === undefined) throw new Error(`the contract has no model ${name}`);
    this.#compiled.set(name, validate);
    if (validate(value)) return null;
    const [first] = validate.errors ?? [];
    return `${first?.instancePath ?? ''} breaks ${first?.schemaPath ?? ''}`;
  }
}

let published: SchemaSet | undefined;

/** The models as published; those of operations that are not published as they are written. */
export function contractModels(): SchemaSet {
  published ??= new SchemaSet({
    ...Object.fromEntries(
      [...readSource(join(import.meta.dirname, '../..')).models.values()].map(({ name, schema }) => [
        name,
        schema,
      ]),
    ),
    ...(bundle.$defs as Record<string, Schema>),
  });
  return published;
}
