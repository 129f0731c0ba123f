import type { OperationEntry, ParameterSpec } from '../../../../contracts/operation.ts';

export type DocsQuery = Readonly<Record<string, unknown>>;

/**
 * One file below `/docs`, or for models at the root. Every file gets a route of its own when the service starts, so no path of a request ever becomes
 * the name of a file.
 */
export interface DocsFile {
  readonly id: string;
  readonly path: string;
  /** Further paths of the same content. */
  readonly aliases?: readonly string[];
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parameters that the page takes; none where absent. */
  readonly query?: readonly ParameterSpec[];
  readonly content: (query: DocsQuery) => Promise<string | Uint8Array>;
  /** The same page as Markdown, for a caller that prefers it; only HTML where absent. */
  readonly markdown?: () => Promise<string>;
}

/** The entry with which the HTTP chain serves the file. It is not part of the contract. */
export function operationOf({
  id,
  path,
  aliases = [],
  mediaType,
  headers,
  query = [],
}: DocsFile): OperationEntry {
  return {
    id,
    group: 'server',
    stability: 'internal',
    authorizationClass: 'anonymous',
    rateClass: 'public',
    accessOperation: null,
    mutation: 'read',
    completion: 'non-mutating',
    idempotency: { requirement: 'not-applicable', location: null },
    routes: [path, ...aliases].map((address) => ({
      operationId: id,
      method: 'GET',
      segments: address
        .slice(1)
        .split('/')
        .map((literal) => ({ literal })),
      path: [],
      query,
      headers: [],
      bodyFromParameters: false,
      bodyMembers: [],
    })),
    requestSchema: null,
    requestMediaType: null,
    bodyLimitBytes: null,
    responses: [{ status: 200, mediaType, schema: null, headers: Object.keys(headers) }],
    problems: [],
  };
}
