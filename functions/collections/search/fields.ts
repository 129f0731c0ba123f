import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember, pointerTo } from '../../kernel/errors.ts';
import { storableText } from './words.ts';

/** The most pointers in each list of a request. */
const FIELDS_MAX = limits.searchFieldsMax;
/** The fields of a search that names none. */
export const DEFAULT_FIELDS: readonly string[] = ['/content', '/metadata', '/id', '/type', '/sources'];
/** A match in one of these fields gets the metadata boost. */
const METADATA_FIELDS = ['/metadata', '/sources', '/id'];
const pointerForm = /^(?:\/(?:[^/~]|~[01])*)+$/;

/** The leaves of a record that are scored, and their boosts. */
export interface FieldSelection {
  /** Distinct pointers. A leaf at or below one of them is scored. */
  readonly fields: readonly string[];
  /** The longest pointer that leads to a leaf decides its boost; without one it is 1. */
  readonly fieldBoosts: ReadonlyMap<string, number>;
}

/** The role of a path in one query. */
export interface Field {
  readonly path: string;
  readonly isSelected: boolean;
  readonly boost: number;
  readonly isMetadata: boolean;
}

/** Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`. */
export function readFields(
  fields: readonly string[] | null | undefined,
  boosts: Readonly<Record<string, number>> | null | undefined,
  pointer: string,
): FieldSelection {
  const given = fields === null || fields === undefined || fields.length === 0 ? DEFAULT_FIELDS : fields;
  checkNumber(given.length, `${pointer}/fields`);
  const boosted = Object.entries(boosts ?? {});
  checkNumber(boosted.length, `${pointer}/fieldBoosts`);
  return {
    fields: [...new Set(given.map((text, index) => readPointer(text, `${pointer}/fields/${index}`)))],
    fieldBoosts: new Map(
      boosted.map(([text, boost]) => {
        const place = pointerTo(`${pointer}/fieldBoosts`, text);
        if (!Number.isFinite(Math.fround(boost))) throw invalidMember(place, 'must be a finite float32');
        return [readPointer(text, place), Math.max(0, boost)];
      }),
    ),
  };
}

function checkNumber(count: number, pointer: string): void {
  if (count > FIELDS_MAX)
    throw invalidMember(pointer, `must have at most ${FIELDS_MAX} pointers`, 'limit_exceeded');
}

function readPointer(text: string, pointer: string): string {
  const trimmed = text.trim();
  if (!pointerForm.test(trimmed)) throw invalidMember(pointer, 'must be a JSON Pointer to a member');
  return storableText(trimmed);
}

export function fieldOf(path: string, { fields, fieldBoosts }: FieldSelection): Field {
  let longest = -1;
  let boost = 1;
  for (const [pointer, value] of fieldBoosts) {
    if (pointer.length <= longest || !leadsTo(pointer, path)) continue;
    longest = pointer.length;
    boost = value;
  }
  return {
    path,
    isSelected: fields.some((pointer) => leadsTo(pointer, path)),
    boost,
    isMetadata: METADATA_FIELDS.some((pointer) => leadsTo(pointer, path)),
  };
}

function leadsTo(pointer: string, path: string): boolean {
  return path.startsWith(pointer) && (path.length === pointer.length || path[pointer.length] === '/');
}
