import type { RecordParts } from '../collections/parts.ts';
import { collectionMissing, readCollection } from '../collections/read-policy.ts';
import { readFilter } from '../collections/rules/filter.ts';
import { embedTexts } from '../embeddings/embed-texts.ts';
import type { EmbeddingQuestion } from '../embeddings/rules/request.ts';
import type { RetrievalParts } from './parts.ts';
import type { Retrieval } from './rules/request.ts';
import { planVectors } from './rules/vector-plan.ts';

/** The vectors of the query, in the order of the fields of the retrieval. */
export interface QueryVectors {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly values: readonly (readonly number[])[];
  /** The number of different texts that were embedded. */
  readonly prepared: number;
}

/**
 * Embeds the texts of a retrieval; `null` if it compares no vectors. Checks the collections first, so that a paid model is not
 * called for a retrieval that they refuse.
 */
export async function queryVectors(
  { records, embeddings }: RetrievalParts,
  space: string,
  retrieval: Retrieval,
  signal: AbortSignal,
): Promise<QueryVectors | null> {
  const { vectors, collections, filter, pointer } = retrieval;
  if (vectors.length === 0) return null;
  const { provider, modelId, dimensions } = embeddings.embedder;
  for (const name of collections) {
    const { policy } = await collectionNamed(records, space, name);
    planVectors(vectors, policy, dimensions);
    readFilter(filter, policy.indexedMetadata, `${pointer}/filter`);
  }
  const byKind = new Map<string, EmbeddingQuestion>();
  for (const { question } of vectors) {
    const known = byKind.get(kindOf(question));
    const texts = new Set([...(known?.texts ?? []), ...question.texts]);
    byKind.set(kindOf(question), { ...question, texts: [...texts] });
  }
  const made = new Map<string, readonly number[]>();
  for (const [kind, question] of byKind) {
    const { items } = await embedTexts(embeddings, question, { space, signal });
    for (const { index, values } of items) made.set(`${kind}${question.texts[index]}`, values);
  }
  const values = vectors.map(({ question }) => made.get(`${kindOf(question)}${question.texts[0]}`) ?? []);
  return { provider, modelId, dimensions, values, prepared: made.size };
}

async function collectionNamed(records: RecordParts, space: string, name: string) {
  const collection = await readCollection(records, space, name);
  if (collection === null) throw collectionMissing(name);
  return collection;
}

/** Questions of one kind are sent to the model together. */
function kindOf({ purpose, prefixes }: EmbeddingQuestion): string {
  return JSON.stringify([purpose, prefixes]);
}
