import type { RecordBehaviour } from './said-defaults-records.ts';

interface Job {
  readonly id: string;
  readonly status: string;
  readonly result: { readonly items: readonly unknown[] } | null;
}

/** The behaviour of the service if members of requests for embeddings are absent. */
export const embeddingsAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'EmbeddingRequest.purpose': {
    other: 'query',
    async of(call, added) {
      const { body } = await call('POST', '/embeddings', { text: 'a', ...added });
      return (body as { purpose: string }).purpose;
    },
  },
  'GET /embeddings/jobs includeResult': {
    other: true,
    async of(call, added) {
      const { body } = await call('POST', '/embeddings/jobs', { text: 'a' });
      const { id } = body as Job;
      for (let { status } = body as Job; ['queued', 'running'].includes(status); )
        status = ((await call('GET', `/embeddings/jobs/${id}`)).body as Job).status;
      const query = Object.entries(added).map(([member, value]) => `&${member}=${String(value)}`);
      const list = await call('GET', `/embeddings/jobs?limit=200${query.join('')}`);
      return (list.body as readonly Job[]).find((job) => job.id === id)?.result?.items.length;
    },
  },
};
