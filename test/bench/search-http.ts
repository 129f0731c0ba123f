import { UNCHECKED } from './canonical-http.ts';
import { requireEnd } from './execution-start.ts';
import type { JsonClient } from './json-client.ts';
import { round } from './load.ts';
import { SearchTexts, SearchVectors, searchPolicy, searchRecord } from './search-data.ts';
import { lexicalRequest, numberOf, vectorRequest } from './search-own.ts';
import { measureSearcher, type SearchTask, SHAPE } from './search-task.ts';
import { BenchServer } from './server.ts';

const NAME = 'bench';
/** A request has at most 1 MiB. */
const JOB = 150;
/** Jobs at once: while one is written, the next arrives. */
const JOBS = 2;

/** Writes by jobs and searches over HTTP, on an embedded server of a process of its own. */
export async function measureSearchHttp(task: SearchTask): Promise<object> {
  const server = await BenchServer.start([UNCHECKED]);
  try {
    const { client } = server;
    const { id } = await client.postJson<{ id: string }>('/collections', searchPolicy(NAME, SHAPE));
    await requireEnd(client, id);
    const write = await loadByJobs(client, task.vectors);
    const search = (body: object) => client.post(`/collections/${NAME}/search`, body);
    const searched = await measureSearcher(task, {
      nearest: async (vector, kind) => matchesIn(await search(vectorRequest(vector, kind))).map(numberOf),
      lexical: async (words) => matchesIn(await search(lexicalRequest(words))).length,
    });
    return { write, ...searched };
  } finally {
    await server.stop();
  }
}

/** The beginnings of the matches of an answer, which is not read as a whole. */
function matchesIn(answer: string): readonly string[] {
  return answer.split('{"record":').slice(1);
}

/** Only the time while jobs run counts, not that in which their records are made. */
async function loadByJobs(client: JsonClient, count: number): Promise<object> {
  const recordsFrom = recordMaker(count);
  const path = `/collections/${NAME}/records/batch`;
  let took = 0;
  for (let from = 0; from < count; from += JOB * JOBS * 4) {
    const bodies = Array.from({ length: JOBS * 4 }, (_, job) => ({
      records: recordsFrom(from + job * JOB),
    })).filter(({ records }) => records.length > 0);
    const began = performance.now();
    const writer = async () => {
      for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
        const { id } = await client.postJson<{ id: string }>(path, body);
        await requireEnd(client, id);
      }
    };
    await Promise.all(Array.from({ length: JOBS }, writer));
    took += performance.now() - began;
  }
  return { upsertsPerSecond: round((1000 * count) / took) };
}

/** Makes the records of a job from its first one on. */
function recordMaker(count: number): (first: number) => object[] {
  const vectors = new SearchVectors(SHAPE);
  const texts = new SearchTexts();
  const recordOf = (record: number) => searchRecord(record, texts.of(record), vectors.of(record));
  return (first) =>
    Array.from({ length: Math.max(0, Math.min(JOB, count - first)) }, (_, n) => recordOf(first + n));
}
