import { HEADER, literal } from '../print.ts';
import type { Json } from '../schema.ts';
import type { SdkContract, SdkOperation, SdkParameter, SdkRequest } from './ir.ts';
import { keyOf } from './typescript-text.ts';

/** `operations.ts`: what the runtime has to know of each operation. */
export function typescriptOperations({ operations }: SdkContract): string {
  const entries = operations.map(
    (operation) => `  ${operation.id}: ${literal(specOf(operation), '  ', operation.id.length + 4)},\n`,
  );
  return `${HEADER}

import type { OperationSpec } from '../operation.ts';

export const operations = {
${entries.join('')}} as const satisfies Readonly<Record<string, OperationSpec>>;
`;
}

function specOf(operation: SdkOperation): Json {
  const { id, method, pathTemplate, query, headers, request, retry, responses, paging, idempotency } =
    operation;
  const { place } = idempotency;
  const key: Json =
    place?.in === 'header'
      ? { in: 'header', name: place.name, ...(place.member === null ? {} : { member: place.member }) }
      : { in: 'body', member: place?.member ?? '' };
  return {
    id,
    method,
    path: pathTemplate,
    ...(query.length === 0 ? {} : { query: query.map(parameterSpec) }),
    ...(headers.length === 0 ? {} : { headers: headers.map(parameterSpec) }),
    ...(request === null ? {} : { body: bodySpec(request) }),
    ...(place === null ? {} : { key }),
    retry,
    answers: Object.fromEntries(responses.map(({ status, body }) => [status, body?.kind ?? 'none'])),
    ...(paging === null
      ? {}
      : {
          paging: {
            tokenIn: paging.tokenIn,
            requestToken: paging.requestToken,
            responseToken: paging.responseToken,
            items: paging.items,
          },
        }),
  };
}

function parameterSpec(parameter: SdkParameter): Json {
  const { name, prefix } = parameter;
  return { name, key: keyOf(parameter), ...(prefix ? { prefix } : {}) };
}

function bodySpec(request: SdkRequest): Json {
  if (request.kind === 'json') return { kind: 'json' };
  if (request.kind === 'bytes') return { kind: 'bytes', mediaType: request.mediaType };
  const parts = request.parts.map(({ name, type }) => ({ name, binary: type.kind === 'bytes' }));
  return { kind: 'multipart', parts };
}
