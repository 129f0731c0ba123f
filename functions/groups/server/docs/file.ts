import type { OperationEntry } from '../../../../contracts/operation.ts';

/**
 * What `/docs` is made of. Every file has a route of its own, told when the service starts: no path of a request ever
 * becomes the name of a file.
 */
export interface DocsFile {
  readonly id: string;
  readonly path: string;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: () => Promise<string | Uint8Array>;
}

/** The file as the chain serves it: like an operation, but none of the contract. */
export function operationOf({ id, path, mediaType, headers }: DocsFile): OperationEntry {
  const segments = path.slice(1).split('/');
  return {
    id,
    group: 'server',
    stability: 'internal',
    authorizationClass: 'anonymous',
    rateClass: null,
    accessOperation: null,
    mutation: 'read',
    completion: 'non-mutating',
    idempotency: { requirement: 'not-applicable', location: null },
    routes: [
      {
        operationId: id,
        method: 'GET',
        segments: segments.map((literal) => ({ literal })),
        path: [],
        query: [],
        headers: [],
        bodyFromParameters: false,
        bodyMembers: [],
      },
    ],
    requestSchema: null,
    requestMediaType: null,
    bodyLimitBytes: null,
    responses: [{ status: 200, mediaType, schema: null, headers: Object.keys(headers) }],
    problems: [],
  };
}
