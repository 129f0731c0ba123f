import { hash } from 'node:crypto';
import type { GraphKind, GraphScope } from './elements.ts';
import { DEFAULT_NAME } from './limits.ts';
import { partitionOf } from './read-scope.ts';

/** Characters of a subject id in the id of its record; ids of records have at most 1,023 bytes. */
const CODED_LENGTH_MAX = 900;

/** The id of the record of an element, in ASCII that is safe in a path. */
export function graphRecordId(kind: GraphKind, subjectId: string): string {
  return `g:${kind}:${coded(subjectId)}`;
}

function coded(subjectId: string): string {
  if (subjectId.trim() === '') return DEFAULT_NAME;
  const text = Buffer.from(subjectId).toString('base64url');
  return text.length <= CODED_LENGTH_MAX ? text : `sha256-${hash('sha256', subjectId, 'hex')}`;
}

/** The name of the envelope's own record. A JSON list keeps scopes apart whose members contain the separator. */
export function envelopeSubject(scope: GraphScope): string {
  const { graphId, namespace, collection, tenantId } = scope;
  const parts = [graphId, namespace, collection, tenantId, partitionOf(scope)];
  const isPlain = parts.every((part) => !part.includes('|'));
  return isPlain ? parts.join('|') : JSON.stringify(parts).replaceAll('|', String.raw`\u007c`);
}
