import { type Block, type Configuration, resourcesOf, textsIn } from './configuration.ts';
import { attributeOf, type BlockSchema, dataSourceSchemas, resourceSchemas } from './schema.ts';

/** Finds unknown arguments, blocks and references, as `terraform validate` does. */

const metaArguments = new Set(['for_each', 'count', 'depends_on', 'lifecycle', 'provider']);

export function schemaFaults(configuration: Configuration): string[] {
  const faults = resourcesOf(configuration).flatMap(({ type, name, block }) =>
    ofSchema(`${type}.${name}`, block, resourceSchemas[type]),
  );
  const sources = resourcesOf({ ...configuration, resource: configuration.data }).flatMap(
    ({ type, name, block }) => ofSchema(`data.${type}.${name}`, block, dataSourceSchemas[type]),
  );
  return [...faults, ...sources, ...referenceFaults(configuration)];
}

function ofSchema(place: string, block: Block, schema: BlockSchema | undefined): string[] {
  if (schema === undefined) return [`${place}: the provider has no such type`];
  const own = Object.fromEntries(Object.entries(block).filter(([name]) => !metaArguments.has(name)));
  return blockFaults(place, own, schema);
}

function blockFaults(place: string, block: Block, schema: BlockSchema): string[] {
  const { attributes = {}, blocks = {} } = schema;
  const { dynamic = {}, ...rest } = block;
  const repeated = Object.entries(dynamic as Readonly<Record<string, readonly Block[]>>);
  const faults: string[] = [];
  for (const [name, value] of Object.entries(rest)) {
    const inner = blocks[name];
    if (inner !== undefined)
      faults.push(...nestedFaults(`${place}.${name}`, value as readonly Block[], inner));
    else if (attributes[name] === undefined) faults.push(`${place}: an argument ${name} is not known`);
    else if (!isSettable(attributes[name])) faults.push(`${place}: only the provider sets ${name}`);
  }
  for (const [name, uses] of repeated) {
    const inner = blocks[name];
    if (inner === undefined) faults.push(`${place}: a block ${name} is not known`);
    else
      faults.push(
        ...uses.flatMap(({ content }) =>
          nestedFaults(`${place}.${name}`, content as readonly Block[], inner),
        ),
      );
  }
  const given = new Set([...Object.keys(rest), ...repeated.map(([name]) => name)]);
  for (const [name, text] of Object.entries(attributes))
    if (attributeOf(text).required && !given.has(name)) faults.push(`${place}: ${name} is missing`);
  for (const [name, { min = 0 }] of Object.entries(blocks))
    if (min > 0 && !given.has(name)) faults.push(`${place}: a block ${name} is missing`);
  return faults;
}

function nestedFaults(place: string, blocks: readonly Block[], schema: BlockSchema): string[] {
  const { max = 0 } = schema;
  const many = max > 0 && blocks.length > max ? [`${place}: there are more than ${max} blocks`] : [];
  return [...many, ...blocks.flatMap((block) => blockFaults(place, block, schema))];
}

function isSettable(text: string): boolean {
  const { required, optional } = attributeOf(text);
  return required || optional;
}

function referenceFaults({ resource, data, variable, locals, output }: Configuration): string[] {
  const isKnown: Readonly<Record<string, (first: string, second: string) => boolean>> = {
    var: (name) => name in variable,
    local: (name) => name in locals,
    data: (type, name) => name in (data[type] ?? {}),
  };
  const faults: string[] = [];
  for (const { place, text } of textsIn({ resource, data, locals, output })) {
    const depends = place.includes('.depends_on.');
    for (const [, expression = ''] of [
      ...text.matchAll(/\$\{([^}]*)\}/g),
      ...(depends ? [[text, text]] : []),
    ]) {
      for (const [whole, head = '', first = '', second = ''] of expression.matchAll(
        /(?<![\w.])(var|local|data|google_\w+)\.(\w+)(?:\.(\w+))?/g,
      )) {
        const known = isKnown[head]?.(first, second) ?? first in (resource[head] ?? {});
        if (!known) faults.push(`${place}: ${whole} is not declared`);
      }
    }
  }
  return [...new Set(faults)];
}
