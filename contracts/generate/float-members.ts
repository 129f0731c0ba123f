import { type Model, nullableBranch, referenceName, type Schema, typesOf } from './schema.ts';

/**
 * The members of a request that hold floats, as JSON Pointers with `*` for any name or position. A model that holds itself is
 * followed once: no such model has floats further down.
 */
export function floatMembers(
  schema: Schema,
  models: ReadonlyMap<string, Model>,
  pointer = '',
  above: readonly string[] = [],
): readonly string[] {
  const name = referenceName(schema);
  if (name !== undefined) {
    const model = models.get(name);
    return model === undefined || above.includes(name)
      ? []
      : floatMembers(model.schema, models, pointer, [...above, name]);
  }
  if (typesOf(schema).includes('number')) return [pointer];
  const { properties = {}, items, additionalProperties, oneOf = [] } = schema;
  const below: [Schema | undefined, string][] = Object.entries(properties).map(([member, each]) => [
    each,
    `${pointer}/${member}`,
  ]);
  below.push([items, `${pointer}/*`], [nullableBranch(schema), pointer]);
  if (typeof additionalProperties === 'object') below.push([additionalProperties, `${pointer}/*`]);
  for (const branch of oneOf) below.push([branch, pointer]);
  const found = below.flatMap(([each, place]) =>
    each === undefined ? [] : floatMembers(each, models, place, above),
  );
  return [...new Set(found)];
}
