/**
 * The conditions of a request (RFC 9110 section 13.1); an absent field sets none. A field that compares dates is ignored if it
 * holds no date, if the request also compares tags, or if answers with the content have no `Last-Modified`.
 */
export interface Conditions {
  readonly ifMatch?: string | null | undefined;
  readonly ifNoneMatch?: string | null | undefined;
  readonly ifUnmodifiedSince?: string | null | undefined;
  readonly ifModifiedSince?: string | null | undefined;
}

/** `unmatched`: `If-Match` does not hold. `matched`: `If-None-Match` does not hold. */
export type Judgement = 'held' | 'unmatched' | 'matched';

/**
 * Judges the conditions in the order of RFC 9110 section 13.2.2. `etag` is the current strong tag without its quotes, `null` where
 * there is nothing. Tags in the fields may lack their quotes, because the contract shows etags without. `modifiedAt`: when the
 * content was written, in milliseconds; `null` where its answers have no `Last-Modified`.
 */
export function judgeConditions(
  etag: string | null,
  { ifMatch, ifNoneMatch, ifUnmodifiedSince, ifModifiedSince }: Conditions,
  modifiedAt: number | null = null,
): Judgement {
  const hasChanged = (field: string | null | undefined): boolean | null => hasChangedSince(field, modifiedAt);
  const isUnmatched = isGiven(ifMatch)
    ? !isNamed(ifMatch, etag, 'strong')
    : hasChanged(ifUnmodifiedSince) === true;
  if (isUnmatched) return 'unmatched';
  const isMatched = isGiven(ifNoneMatch)
    ? isNamed(ifNoneMatch, etag, 'weak')
    : hasChanged(ifModifiedSince) === false;
  return isMatched ? 'matched' : 'held';
}

/** The three forms of RFC 9110 section 5.6.7: IMF-fixdate, that of RFC 850, and that of `asctime`. */
const DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** Whether the content is younger than the date, in whole seconds; `null` where there is nothing to compare. */
function hasChangedSince(field: string | null | undefined, modifiedAt: number | null): boolean | null {
  if (!isGiven(field) || modifiedAt === null || !DATES.some((form) => form.test(field))) return null;
  const since = Date.parse(field.endsWith('GMT') ? field : `${field} GMT`);
  return Number.isNaN(since) ? null : Math.floor(modifiedAt / 1000) * 1000 > since;
}

/** Whether a range is wanted of the bytes with this tag (RFC 9110 section 13.1.5). A tag is compared strongly; a date never matches. */
export function holdsIfRange(ifRange: string | null | undefined, etag: string | null): boolean {
  if (!isGiven(ifRange)) return true;
  const [tag, ...others] = tagsIn(ifRange);
  return tag !== undefined && others.length === 0 && !tag.isWeak && tag.opaque === etag;
}

function isGiven(field: string | null | undefined): field is string {
  return field !== undefined && field !== null;
}

function isNamed(field: string, etag: string | null, comparison: 'strong' | 'weak'): boolean {
  if (etag === null) return false;
  if (field.trim() === '*') return true;
  return tagsIn(field).some(({ opaque, isWeak }) =>
    // A write that may only create must not replace existing content because its `*` came twice, in a list or in quotes.
    comparison === 'weak' ? opaque === etag || opaque === '*' : opaque === etag && !isWeak,
  );
}

interface EntityTag {
  readonly opaque: string;
  readonly isWeak: boolean;
}

/** The tags of a list. A quoted tag may hold commas. A field that is no such list has none. */
function tagsIn(field: string): readonly EntityTag[] {
  const element = /[\s,]*(?:(W\/)?(?:"([^"]*)"\s*|([^\s",][^",]*))(?=,|$)|$)/y;
  const tags: EntityTag[] = [];
  while (element.lastIndex < field.length) {
    const [text, weak, quoted, bare] = element.exec(field) ?? [];
    if (text === undefined) return [];
    const opaque = quoted ?? bare?.trim();
    if (opaque !== undefined) tags.push({ opaque, isWeak: weak !== undefined });
  }
  return tags;
}
