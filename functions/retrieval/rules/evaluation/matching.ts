import type { Json } from '../../../kernel/canonical-json.ts';
import type { CollectionPlace } from '../merge.ts';

/** A source of a record, or of a match that names some of its members. */
export interface SourceReference {
  readonly id?: string | null;
  readonly kind?: string | null;
  readonly uri?: string | null;
  readonly span?: unknown;
  readonly [member: string]: unknown;
}

/** The records of a match, as a request names them. */
export interface MatchRequest {
  readonly id?: string | null;
  readonly partitionKey?: string | null;
  readonly collection?: string | null;
  readonly aliases?: readonly string[] | null;
  readonly sourceIds?: readonly string[] | null;
  readonly sources?: readonly SourceReference[] | null;
}

/** A result in the form that matches are compared with. */
export interface JudgedRecord extends CollectionPlace {
  /** All names of the record: its id, the ids of its sources, and those that its metadata names. */
  readonly names: ReadonlySet<string>;
  readonly sources: readonly SourceReference[];
}

/** Members of metadata that hold further ids of a record, one or a list. */
const nameMembers = [
  'alias',
  'aliases',
  'aliasId',
  'aliasIds',
  'containedId',
  'containedIds',
  'containedRecordId',
  'containedRecordIds',
  'sourceId',
  'sourceIds',
  'verseId',
  'verseIds',
];

export function judgedRecord(
  place: CollectionPlace,
  record: { readonly [member: string]: Json },
): JudgedRecord {
  const { collection, partitionKey, id } = place;
  const { metadata, sources } = record;
  const references = (Array.isArray(sources) ? sources : []).filter(isObject) as readonly SourceReference[];
  const named = nameMembers.flatMap((name) => (isObject(metadata) ? stringsOf(metadata[name]) : []));
  const ids = references.flatMap(({ id: source }) => stringsOf(source));
  return { collection, partitionKey, id, names: new Set([id, ...ids, ...named]), sources: references };
}

/** The ids of the match; a record needs one of them. */
export function idsOf({ id, aliases, sourceIds, sources }: MatchRequest): readonly string[] {
  const ofSources = (sources ?? []).flatMap((source) => stringsOf(source.id));
  return [...stringsOf(id), ...(aliases ?? []), ...(sourceIds ?? []), ...ofSources];
}

/** Whether the source has a member that is compared. */
export function canDiffer(source: SourceReference): boolean {
  const { id, kind, uri, span } = source;
  return (
    [id, kind, uri].some(isNamed) || (isObject(span) && spanMembers.some((name) => isScalar(span[name])))
  );
}

export const equalMembers = ['line', 'column', 'anchor'] as const;
export const spanMembers = ['charStart', 'charEnd', ...equalMembers] as const;

export function isNamed(text: unknown): text is string {
  return typeof text === 'string' && text !== '';
}

export function isScalar(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}

function stringsOf(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((each): each is string => isNamed(each));
}

export function isObject(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
