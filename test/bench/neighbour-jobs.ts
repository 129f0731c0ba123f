import type { JsonClient } from './json-client.ts';
import type { NeighbourKind } from './neighbour-server.ts';

/** As many as one space may have active, of which 16 are at work. */
const JOBS = 25;
const RECORDS = 4_000;
const CASES = 200;
const COLLECTION = 'library';

/** The reads of one tenant alone, and while 25 evaluations of another space are at work as jobs. */
export const neighbourJobs: NeighbourKind = {
  bench: 'neighbour-jobs',
  neighbours: `${JOBS} jobs of another space that evaluate ${CASES} searches each`,
  settings: () => Promise.resolve([]),
  prepare: preload,
  async begin({ client }) {
    const jobs = await Promise.all(Array.from({ length: JOBS }, () => evaluation(client)));
    return async () => {
      await Promise.all(jobs.map((id) => cancel(client, id)));
      return { jobs: jobs.length };
    };
  },
};

const WORDS = 'policy claim damage water garage roof invoice estimate witness report settled reserve'.split(
  ' ',
);

async function preload(client: JsonClient): Promise<void> {
  await done(client, '/collections', { name: COLLECTION });
  for (let at = 0; at < RECORDS; at += 100) {
    const records = Array.from({ length: 100 }, (_, n) => recordOf(at + n));
    await done(client, `/collections/${COLLECTION}/records/batch`, { records });
  }
}

function recordOf(n: number): object {
  const words = Array.from({ length: 60 }, (_, at) => `${WORDS[(n * 7 + at * at) % WORDS.length]}${at % 5}`);
  return { id: `${n}`, partitionKey: 'p', type: 'note', content: { text: words.join(' ') } };
}

/** Starts a job, and gives its id. */
async function evaluation(client: JsonClient): Promise<string> {
  const cases = Array.from({ length: CASES }, (_, n) => {
    const query = `${WORDS[n % WORDS.length]}${n % 5} ${WORDS[(n * 5 + 1) % WORDS.length]}${(n + 2) % 5}`;
    return {
      name: `case ${n}`,
      request: { query, collections: [COLLECTION], limit: 50 },
      expected: [{ id: `${n}` }],
    };
  });
  const path = `/retrieval/evaluate/jobs`;
  return (await client.postJson<{ id: string }>(path, { cases })).id;
}

async function done(client: JsonClient, path: string, body: object): Promise<void> {
  const { id } = await client.postJson<{ id: string }>(path, body);
  for (;;) {
    const { status } = await client.getJson<{ status: string }>(`/execution/runs/${id}?waitSeconds=20`);
    if (status === 'succeeded') return;
    if (status !== 'queued' && status !== 'running') throw new Error(`the run ${id} is ${status}`);
  }
}

async function cancel(client: JsonClient, id: string): Promise<void> {
  await client.send('DELETE', `/retrieval/evaluate/jobs/${id}`);
  await client.getJson(`/execution/runs/${id}?waitSeconds=20`);
}
