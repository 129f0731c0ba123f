import type { Json } from '../../contracts/generate/schema.ts';

/** Every way to change one place of a value that was given out, a little or altogether. */

export interface Damage {
  /** Where and how, such as `documents/0/revision: one more`. */
  readonly label: string;
  readonly value: Json;
}

type Replace = (value: Json) => Json;
type JsonObject = { readonly [member: string]: Json };

export const otherMoment = '2031-01-02T03:04:05.678Z';

/** `unordered` says of which lists the order is none of their content: those are not put into another one. */
export function* damages(
  value: Json,
  unordered: (place: string) => boolean,
  place = '',
  replace: Replace = (changed) => changed,
): Generator<Damage, void, undefined> {
  const changed = (how: string, other: Json): Damage => ({
    label: `${place}: ${how}`,
    value: replace(other),
  });
  const inner = (name: string) => (place === '' ? name : `${place}/${name}`);
  for (const [how, other] of othersOf(value)) yield changed(how, other);
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    yield changed('one more', [...items, null]);
    if (items.length > 1 && !unordered(place)) yield changed('in another order', items.toReversed());
    for (const [n, item] of items.entries()) {
      yield { label: `${inner(`${n}`)}: left out`, value: replace(items.toSpliced(n, 1)) };
      yield { label: `${inner(`${n}`)}: twice`, value: replace(items.toSpliced(n, 0, item)) };
      yield* damages(item, unordered, inner(`${n}`), (other) => replace(items.with(n, other)));
    }
  } else if (isObject(value)) {
    for (const name of ['unknownMember', 'constructor', '']) {
      if (!Object.hasOwn(value, name))
        yield changed(`with ${name || 'a nameless member'}`, { ...value, [name]: 1 });
    }
    for (const [name, member] of Object.entries(value)) {
      const { [name]: _, ...others } = value;
      yield { label: `${inner(name)}: left out`, value: replace(others) };
      yield {
        label: `${inner(name)}: under another name`,
        value: replace({ ...others, [`${name}X`]: member }),
      };
      yield* damages(member, unordered, inner(name), (other) => replace({ ...value, [name]: other }));
    }
  }
}

/** The place without the numbers of items. */
export function kindOf({ label }: Damage): string {
  return label.replaceAll(/\/\d+(?=[/:])/g, '/*');
}

function* othersOf(value: Json): Generator<readonly [how: string, other: Json], void, undefined> {
  if (value !== null) yield ['null', null];
  if (typeof value !== 'boolean') yield ['true', true];
  if (!isObject(value)) yield ['an object', {}];
  if (!Array.isArray(value)) yield ['a list', [value]];
  if (typeof value !== 'string') yield ['a text', 'other'];
  if (value !== otherMoment) yield ['a moment', otherMoment];
  if (typeof value === 'boolean') yield ['the opposite', !value];
  if (typeof value === 'string') {
    yield ['one bit', flipped(value)];
    yield ['longer', `${value}x`];
    yield ['with a space', `${value} `];
    if (value !== '') yield ['shorter', value.slice(0, -1)];
  }
  if (typeof value === 'number') {
    yield ['one more', value + 1];
    yield ['the negative', -value - 1];
    yield ['a text of it', String(value)];
    yield ['a fraction', value + 0.5];
    yield ['the largest', Number.MAX_SAFE_INTEGER];
    yield ['too large', 2 ** 53];
  }
}

/** The text with the lowest bit of its last character turned over. */
function flipped(text: string): string {
  const last = text.length - 1;
  return text.slice(0, last) + String.fromCharCode(text.charCodeAt(last) ^ 1);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
