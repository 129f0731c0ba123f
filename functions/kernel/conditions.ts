/**
 * The conditions of a request (RFC 9110 section 13.1); an absent field asks for nothing. Answers carry no `Last-Modified`, so the
 * fields that compare dates have nothing to compare and are ignored (sections 13.1.3 and 13.1.4).
 */
export interface Conditions {
  readonly ifMatch?: string | null | undefined;
  readonly ifNoneMatch?: string | null | undefined;
}

/** `unmatched`: `If-Match` does not hold. `matched`: `If-None-Match` does not hold. */
export type Judgement = 'held' | 'unmatched' | 'matched';

/**
 * Judges the conditions in the order of RFC 9110 section 13.2.2. `etag` is the current strong tag without its quotes, `null` where
 * there is nothing. Tags in the fields may lack their quotes, because the contract shows etags without.
 */
export function judgeConditions(etag: string | null, { ifMatch, ifNoneMatch }: Conditions): Judgement {
  if (isGiven(ifMatch) && !isNamed(ifMatch, etag, 'strong')) return 'unmatched';
  if (!isGiven(ifNoneMatch)) return 'held';
  return isNamed(ifNoneMatch, etag, 'weak') ? 'matched' : 'held';
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
    // A write that should only create must not replace what is there because its `*` came twice, in a list or in quotes.
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
