import type { ParameterValue } from './parameters.ts';

export interface ListHeaders {
  readonly Link?: string;
  readonly 'Svc-Truncated'?: string;
}

export interface ListEnd {
  /** The parameters that the address of the next page has beside those of this one; `null` after the last page. */
  readonly next: Readonly<Record<string, ParameterValue>> | null;
  /** The page ends before its limit, although more may follow. */
  readonly cut: boolean;
}

/**
 * The header fields of a list: `Link` names the next page, and `Svc-Truncated` marks a page that is shorter than
 * requested.
 */
export function listHeaders(
  path: string,
  query: Readonly<Record<string, ParameterValue | undefined>>,
  { next, cut }: ListEnd,
): ListHeaders {
  if (next === null) return {};
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, ...next }))
    if (value !== undefined) parameters.append(name, String(value));
  const Link = `<${path}?${parameters.toString()}>; rel="next"`;
  return cut ? { Link, 'Svc-Truncated': 'true' } : { Link };
}

/** The header field of a list whose answer itself holds the token of the next page. */
export function cutHeaders(cut: boolean): Pick<ListHeaders, 'Svc-Truncated'> {
  return cut ? { 'Svc-Truncated': 'true' } : {};
}
