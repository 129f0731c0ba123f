import type { Call, RecordBehaviour } from './said-defaults-records.ts';

interface Job {
  readonly id: string;
  readonly status: string;
  readonly operation: string;
  readonly mode: string;
  readonly result: { readonly status: string } | null;
}

const PROVIDER = '/providers/local-token-overlap-reranker';
const payload = { query: 'a', candidates: [{ id: 'a', text: 'a' }] };

async function started(call: Call, added: object): Promise<Job> {
  return (await call('POST', `${PROVIDER}/jobs`, { capability: 'ai.rerank', payload, ...added })).body as Job;
}

/** The behaviour of the service if members of requests for runs of providers are absent. */
export const providersAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'ProviderRunRequest.operation': {
    other: 'stop',
    of: async (call, added) => (await started(call, added)).operation,
  },
  'ProviderRunRequest.mode': {
    other: 'review',
    of: async (call, added) => (await started(call, added)).mode,
  },
  'ProviderQualificationRequest.mode': {
    other: 'review',
    async of(call, added) {
      await call('POST', `${PROVIDER}/qualify`, added);
      const { body } = await call('GET', '/traces?operation=provider.qualification&limit=1');
      return (body as readonly { readonly request: { readonly mode: string } }[])[0]?.request.mode;
    },
  },
  'GET /provider-jobs includeResult': {
    other: true,
    async of(call, added) {
      const { id, ...job } = await started(call, {});
      for (let { status } = job; ['Queued', 'Running'].includes(status); )
        status = ((await call('GET', `/provider-jobs/${id}`)).body as Job).status;
      const query = Object.entries(added).map(([member, value]) => `&${member}=${String(value)}`);
      const list = await call('GET', `/provider-jobs?limit=200${query.join('')}`);
      return (list.body as readonly Job[]).find((each) => each.id === id)?.result?.status;
    },
  },
};
