/** The next page of a list, as the header `Link` names it (RFC 8288). */

const link = /<([^<>]*)>((?:\s*;\s*[\w*]+\s*(?:=\s*(?:"[^"]*"|[^\s",;]+))?)*)/g;
const relation = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))/i;

/**
 * The query of the next page; `null` if there is none. A list goes on at its own path, so the client takes nothing else of the
 * reference: an answer cannot lead it, with its credentials, to another place.
 */
export function nextQuery(headers: Headers): string | null {
  for (const [, reference = '', parameters = ''] of (headers.get('link') ?? '').matchAll(link)) {
    const [, quoted, plain = ''] = relation.exec(parameters) ?? [];
    if (!(quoted ?? plain).toLowerCase().split(/\s+/).includes('next')) continue;
    const query = /\?([^#]*)/.exec(reference)?.[1];
    if (query !== undefined) return query;
  }
  return null;
}
