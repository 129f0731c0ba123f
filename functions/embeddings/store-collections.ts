import { hash } from 'node:crypto';
import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import type { RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import type { Embedder, EmbeddingPurpose } from './embedder.ts';

/** Vectors that were paid for. Each space has its own, so that the texts of one space stay unknown to another. */
export const EMBEDDINGS: OwnedCollection = {
  name: 'embeddings',
  pairedIndexes: false,
  owner: 'space',
  copies: 'none',
};

/** The spaces that have such vectors to remove later. */
export const EMBEDDING_SPACES: OwnedCollection = {
  name: 'embedding-retention',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** The purpose is part of the key: some models give a text another vector for each purpose. */
export function embeddingKey(
  { provider, modelId, dimensions }: Pick<Embedder, 'provider' | 'modelId' | 'dimensions'>,
  purpose: EmbeddingPurpose,
  text: string,
): RecordKey {
  const id = recordId('embedding', provider, modelId, String(dimensions), purpose, hash('sha256', text));
  return { collection: EMBEDDINGS.name, id };
}
