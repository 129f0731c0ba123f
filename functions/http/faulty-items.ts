import type { Validator } from '../../contracts/validator.ts';

/** An item of a list that breaks the model of its answer. */
export interface FaultyItem {
  readonly index: number;
  /** The id of the item, when it has one. */
  readonly id: string | null;
  /** The place in the schema. */
  readonly rule: string;
}

/** The most faulty items that a check finds: each costs a check of the rest. */
const FAULTS_MAX = 100;

/**
 * The items that break the model of a list, if the rest of the answer keeps it; otherwise `null`. One stored record
 * that fits no model must not hide all the others.
 */
export function faultyItems(body: unknown, validator: Validator): readonly FaultyItem[] | null {
  const faults: FaultyItem[] = [];
  let rest = body;
  let kept: readonly number[] | null = null;
  while (faults.length < FAULTS_MAX && !validator(rest)) {
    const [error] = validator.errors ?? [];
    const [, member, at] = /^(?:\/([A-Za-z]+))?\/([0-9]+)(?:\/|$)/.exec(error?.instancePath ?? '') ?? [];
    const items = at === undefined ? null : listIn(rest, member);
    if (items === null) return null;
    kept ??= items.map((_, index) => index);
    const index = Number(at);
    faults.push({ index: kept[index] ?? index, id: idOf(items[index]), rule: error?.schemaPath ?? 'schema' });
    kept = kept.toSpliced(index, 1);
    const left = items.toSpliced(index, 1);
    rest = member === undefined ? left : { ...(rest as object), [member]: left };
  }
  return faults;
}

function listIn(body: unknown, member: string | undefined): readonly unknown[] | null {
  const list: unknown = member === undefined ? body : (body as Readonly<Record<string, unknown>>)[member];
  return Array.isArray(list) ? list : null;
}

function idOf(item: unknown): string | null {
  const { id, name, key } = (item ?? {}) as Readonly<Record<string, unknown>>;
  const found = id ?? name ?? key;
  return typeof found === 'string' ? found : null;
}
