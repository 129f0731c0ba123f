import type { JsonObject } from '../../kernel/canonical-json.ts';
import { withContractNames } from './aliases.ts';
import type { GraphScope } from './elements.ts';
import { DEFAULT_NAME } from './limits.ts';

/** The scope with its defaults; further members are kept. Ids are trimmed. */
export function readScope(given: JsonObject): GraphScope {
  const scope = withContractNames(given, 'scope');
  const partitionKey = scope['partitionKey'];
  return {
    ...scope,
    graphId: textOf(scope, 'graphId') || DEFAULT_NAME,
    namespace: textOf(scope, 'namespace') || DEFAULT_NAME,
    collection: textOf(scope, 'collection') || DEFAULT_NAME,
    tenantId: textOf(scope, 'tenantId'),
    partitionKey: typeof partitionKey === 'string' ? partitionKey : '',
  };
}

function textOf(scope: JsonObject, name: string): string {
  const value = scope[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** The partition of all records of a graph. */
export function partitionOf({ partitionKey, tenantId, graphId }: GraphScope): string {
  const given = partitionKey.trim();
  if (given !== '') return given;
  return tenantId === '' ? `graph:${graphId}` : `tenant:${tenantId}`;
}
