import { HEADER, literal } from '../print.ts';
import type { Json } from '../schema.ts';
import type { SdkContract, SdkGroup, SdkOperation, SdkParameter, SdkRequest } from './ir.ts';
import { keyOf } from './typescript-text.ts';

/**
 * `operations/<group>.ts`: the data that the runtime needs about each operation, one constant each so that minifiers
 * shorten its name.
 */
export function typescriptOperations({ operations }: SdkContract, group: SdkGroup): string {
  const own = operations.filter(({ group: name }) => name === group.name);
  const constants = own.map(
    (operation) =>
      `export const ${operation.id}: OperationSpec = ${literal(specOf(operation), '', operation.id.length + 30)};\n`,
  );
  return `${HEADER}\n\nimport type { OperationSpec } from '../../operation.ts';\n\n${constants.join('\n')}`;
}

function specOf(operation: SdkOperation): Json {
  const { id, names, method, pathTemplate, query, headers, request, retry, responses, paging, idempotency } =
    operation;
  const { place } = idempotency;
  const key: Json =
    place?.in === 'header'
      ? { in: 'header', name: place.name, ...(place.member === null ? {} : { member: place.member }) }
      : { in: 'body', member: place?.member ?? '' };
  return {
    id,
    ...(names.typescript === id ? {} : { name: names.typescript }),
    method,
    path: pathTemplate,
    ...(query.length === 0 ? {} : { query: query.map(parameterSpec) }),
    ...(headers.length === 0 ? {} : { headers: headers.map(parameterSpec) }),
    ...(request === null ? {} : { body: bodySpec(request) }),
    ...(place === null ? {} : { key }),
    retry,
    ...(operation.absent ? { absent: true } : {}),
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
