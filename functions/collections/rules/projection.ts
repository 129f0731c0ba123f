import { hash } from 'node:crypto';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { indexValue } from './index-value.ts';
import { type RecordPath, readPath, valueAt } from './path.ts';

const POLICY_PATHS_MAX = 28;
const INDEX_NAME_LENGTH_MAX = 64;
/** Indexed in every collection: RAG finds duplicate chunks and reusable vectors by them. */
const ragPaths = ['/metadata/documentId', '/metadata/textHash', '/metadata/embeddingTextHash'];

/** Index values by index name. */
export type ProjectedValues = Readonly<Record<string, string>>;

/** The paths of a collection whose values have an index: at most 32, each once. Further paths are found by scans. */
export function projectedPaths(indexedMetadata: readonly string[]): readonly RecordPath[] {
  const known = pathsOf.get(indexedMetadata);
  if (known !== undefined) return known;
  const texts = ['/type', ...ragPaths, ...indexedMetadata.slice(0, POLICY_PATHS_MAX)];
  const paths = texts.map((text) => readPath(text, ''));
  const unique = [...new Map(paths.map((path) => [path.text, path])).values()];
  pathsOf.set(indexedMetadata, unique);
  return unique;
}

/** Cached by the list of a policy, because each record needs them. */
const pathsOf = new WeakMap<readonly string[], readonly RecordPath[]>();

/** The index values of `record`. A missing value, an array and an object have no entry. */
export function projectValues(record: JsonObject, paths: readonly RecordPath[]): ProjectedValues {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const value = indexValue(valueAt(record, path));
      return value === undefined ? [] : [[indexName(path), value]];
    }),
  );
}

/** The name of the index of `path`. A path has only ASCII and no `~`, so each name belongs to one path. */
export function indexName({ text }: RecordPath): string {
  if (text.length <= INDEX_NAME_LENGTH_MAX) return text;
  return `${text.slice(0, INDEX_NAME_LENGTH_MAX - 44)}~${hash('sha256', text, 'base64url')}`;
}
