import type { RetrievalParts } from '../retrieval/parts.ts';
import { localRerankers } from '../retrieval/reranker.ts';
import { embeddingPartsOf } from './embedding-parts.ts';
import type { GroupParts } from './group.ts';
import { recordPartsOf } from './record-parts.ts';
import { tracePartsOf } from './trace-parts.ts';

/** What retrievals work with, in every process of a deployment. */
export function retrievalPartsOf(
  parts: Pick<GroupParts, 'settings' | 'store' | 'world' | 'log'>,
): RetrievalParts {
  return {
    records: recordPartsOf(parts),
    embeddings: embeddingPartsOf(parts),
    traces: tracePartsOf(parts),
    rerankers: localRerankers(parts.world.clock),
  };
}
