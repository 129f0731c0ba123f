import type { RecordBehaviour } from './said-defaults-records.ts';

/** What the service does where members of requests for embeddings are left out. */
export const embeddingsAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'EmbeddingRequest.purpose': {
    other: 'query',
    async of(call, added) {
      const { body } = await call('POST', '/embeddings', { text: 'a', ...added });
      return (body as { purpose: string }).purpose;
    },
  },
};
