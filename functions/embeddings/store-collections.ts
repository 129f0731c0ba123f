import { hash } from 'node:crypto';
import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import type { RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import type { Embedder, EmbeddingPurpose } from './embedder.ts';

/** Vectors that a provider was paid for. Each space has its own: what one asks for tells another nothing. */
export const EMBEDDINGS: OwnedCollection = {
  name: 'embeddings',
  pairedIndexes: false,
  owner: 'space',
  copies: 'none',
};

/** The spaces in which such vectors await their removal. */
export const EMBEDDING_SPACES: OwnedCollection = {
  name: 'embedding-retention',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** The purpose is part of it: some models give a text another vector for it. */
export function embeddingKey(
  { provider, modelId, dimensions }: Pick<Embedder, 'provider' | 'modelId' | 'dimensions'>,
  purpose: EmbeddingPurpose,
  text: string,
): RecordKey {
  const id = recordId('embedding', provider, modelId, String(dimensions), purpose, hash('sha256', text));
  return { collection: EMBEDDINGS.name, id };
}
