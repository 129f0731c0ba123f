import * as fc from 'fast-check';
import {
  type Json,
  nullableBranch,
  referenceName,
  type Schema,
  typesOf,
} from '../../contracts/generate/schema.ts';
import { numbers, texts } from './scalars.ts';
import type { SchemaSet } from './schema-set.ts';

/** Texts to prefer as the value of a member, by its name: what an earlier answer called by that name. */
export type Vocabulary = ReadonlyMap<string, readonly string[]>;

/** Earlier answers, by model: some requests must return one unchanged. */
export type Answers = ReadonlyMap<string, readonly Json[]>;

export const noAnswers: Answers = new Map();

type Values = fc.Arbitrary<Json>;

/**
 * Values that the model allows, most of them plain enough to get past its schema, some of them as strange as the schema
 * lets them be. They arrive unchanged, because they went through JSON once.
 */
export function valid(
  set: SchemaSet,
  model: string,
  vocabulary: Vocabulary = new Map(),
  answers: Answers = noAnswers,
): Values {
  const needed = reachable(set, model);
  const models = fc.letrec<Record<string, Json>>((tie) => {
    const builder = new Builder({ set, vocabulary, answers }, tie);
    return Object.fromEntries([...needed].map((name) => [name, builder.model(set.model(name))]));
  });
  // Every reachable model is made, so the requested one exists.
  const values = models[model] as Values;
  return values.map((value) => JSON.parse(JSON.stringify(value)) as Json);
}

/** The model and those that it refers to: the contract has hundreds more, and each costs a millisecond to build. */
function reachable(set: SchemaSet, model: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(model)) return found;
  found.add(model);
  const references: string[] = [];
  JSON.stringify(set.model(model), (_, value: Schema | null) => {
    const reference = typeof value === 'object' && value !== null ? referenceName(value) : undefined;
    if (reference !== undefined) references.push(reference);
    return value;
  });
  for (const reference of references) reachable(set, reference, found);
  return found;
}

interface Known {
  readonly set: SchemaSet;
  readonly vocabulary: Vocabulary;
  readonly answers: Answers;
}

class Builder {
  readonly #set: SchemaSet;
  readonly #vocabulary: Vocabulary;
  readonly #answers: Answers;
  readonly #valuesOf: (model: string) => Values;

  constructor({ set, vocabulary, answers }: Known, valuesOf: (model: string) => Values) {
    this.#set = set;
    this.#vocabulary = vocabulary;
    this.#answers = answers;
    this.#valuesOf = valuesOf;
  }

  /** Values of a model, now and then the one that the contract shows as its example. */
  model(schema: Schema): Values {
    const examples = (schema.examples ?? []).map((example) => fc.constant(example));
    return fc.oneof(
      { weight: 3, arbitrary: this.#build(schema) },
      ...examples.map((arbitrary) => ({ weight: 1, arbitrary })),
    );
  }

  #build(schema: Schema): Values {
    this.#set.resolve(schema);
    const reference = referenceName(schema);
    if (reference !== undefined) return this.#valuesOf(reference);
    if ('const' in schema) return fc.constant(schema.const ?? null);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const branch = nullableBranch(schema);
    if (branch !== undefined) return orNull(this.#build(branch));
    if (schema.anyOf !== undefined) throw new Error('anyOf of something else than a model or null');
    if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map((each) => this.#build(each)));
    const types = typesOf(schema);
    if (types.length === 0) return fc.jsonValue({ maxDepth: 3 }) as Values;
    const choices = types.filter((type) => type !== 'null').map((type) => this.#ofType(type, schema));
    const values = choices.length === 0 ? fc.constant(null) : fc.oneof(...choices);
    return choices.length > 0 && types.includes('null') ? orNull(values) : values;
  }

  #ofType(type: string, schema: Schema): Values {
    if (type === 'boolean') return fc.boolean();
    if (type === 'string') return texts(schema);
    if (type === 'integer' || type === 'number') return numbers(type, schema);
    if (type === 'array') return this.#array(schema);
    if (type === 'object') return this.#object(schema);
    throw new Error(`a schema has the type ${type}, which the attacks do not know`);
  }

  #array({ items, minItems = 0, maxItems = 3, uniqueItems }: Schema): Values {
    if (items === undefined) throw new Error('an array says nothing about its items');
    const bounds = { minLength: minItems, maxLength: Math.min(maxItems, Math.max(minItems, 3)) };
    const values = this.#build(items);
    if (uniqueItems !== true) return fc.array(values, bounds);
    return fc.uniqueArray(values, { ...bounds, selector: (value) => JSON.stringify(value) });
  }

  #object(schema: Schema): Values {
    const { properties, additionalProperties, propertyNames, required = [] } = schema;
    if (properties !== undefined) {
      const members = Object.entries(properties).map(([name, member]) => [name, this.#member(name, member)]);
      return fc.record(Object.fromEntries(members) as Record<string, Values>, {
        requiredKeys: [...required],
      });
    }
    const names = texts(propertyNames === undefined ? { maxLength: 40 } : this.#set.resolve(propertyNames));
    const values =
      typeof additionalProperties === 'object'
        ? this.#build(additionalProperties)
        : (fc.jsonValue({ maxDepth: 2 }) as Values);
    const { minProperties: minKeys = 0, maxProperties = 4 } = schema;
    return fc.dictionary(names, values, { minKeys, maxKeys: Math.min(maxProperties, Math.max(minKeys, 4)) });
  }

  #member(name: string, schema: Schema): Values {
    const values = this.#build(schema);
    if (schema['x-svc-verbatim'] === true) return this.#givenBack(schema, values);
    const words = this.#vocabulary.get(name) ?? [];
    const resolved = this.#set.resolve(schema);
    if (words.length === 0 || resolved.enum !== undefined || !typesOf(resolved).includes('string'))
      return values;
    return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...words) }, { weight: 2, arbitrary: values });
  }

  /** An earlier answer, and now and then something that only looks like it. */
  #givenBack(schema: Schema, values: Values): Values {
    const answers = this.#answers.get(referenceName(schema) ?? '') ?? [];
    if (answers.length === 0) return values;
    return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...answers) }, { weight: 1, arbitrary: values });
  }
}

/** A model may hold itself: the deeper, the more often nothing. */
function orNull(values: Values): Values {
  return fc.option(values, { nil: null, freq: 5, maxDepth: 6, depthIdentifier: 'nullable' });
}
