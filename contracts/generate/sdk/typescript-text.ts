import { memberName, quote, union, wrap } from '../print.ts';
import type { Json } from '../schema.ts';
import type { SdkParameter } from './ir.ts';
import type { SdkType } from './types.ts';

/** The position of a type: a request accepts convenient inputs, an answer states its exact type. */
export type Place = 'request' | 'response';

/** The TypeScript type. `models` is the prefix of model names. */
export function typeText(type: SdkType, place: Place, models = ''): string {
  const inner = (part: SdkType) => typeText(part, place, models);
  switch (type.kind) {
    case 'string':
    case 'boolean':
      return type.kind;
    case 'integer':
    case 'number':
      return 'number';
    // The compiler does not accept a caller's interface as JsonObject, because others could add members to it.
    case 'json':
      return place === 'request' ? `${models}JsonInput` : `${models}JsonValue`;
    case 'json-object':
      return place === 'request' ? 'object' : `${models}JsonObject`;
    case 'bytes':
      return 'FilePart';
    case 'literal':
      return union(type.values.map(literalText));
    case 'array':
      return arrayOf(inner(type.items));
    case 'map':
      return `{ readonly [name: string]: ${inner(type.values)} }`;
    case 'model':
      return `${models}${type.name}`;
    case 'union':
      return union(type.models.map((name) => `${models}${name}`));
    default:
      return `${inner(type.of)} | null`;
  }
}

function arrayOf(item: string): string {
  return `readonly ${/[ |]/.test(item) ? `(${item})` : item}[]`;
}

function literalText(value: Json): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value);
}

/** The name of a parameter in an object: `ifMatch`. */
export function keyOf({ words: [first = '', ...more] }: SdkParameter): string {
  return `${first}${more.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('')}`;
}

export function pascal(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** A doc comment of wrapped paragraphs and then tags. */
export function docBlock(paragraphs: readonly string[], tags: readonly string[] = [], indent = ''): string {
  const width = 107 - indent.length;
  const texts = paragraphs.filter((text) => text !== '').map((text) => wrap(text, width));
  const lines = texts.flatMap((text, index) => (index === 0 ? text : ['', ...text]));
  if (tags.length > 0)
    lines.push(...(lines.length === 0 ? [] : ['']), ...tags.flatMap((tag) => wrap(tag, width)));
  const safe = lines.map((line) => line.replaceAll('*/', '*\\/'));
  if (safe.length === 1 && (safe[0]?.length ?? 0) + indent.length + 7 <= 110)
    return `${indent}/** ${safe[0]} */\n`;
  return `${indent}/**\n${safe.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

/** One member of an object type, with its comment. */
export function memberText(
  { name, required, deprecated }: { name: string; required: boolean; deprecated: boolean },
  type: string,
  description: string,
): string {
  return (
    docBlock([description], deprecated ? ['@deprecated'] : [], '  ') +
    `  readonly ${memberName(name)}${required ? '' : '?'}: ${type};\n`
  );
}
