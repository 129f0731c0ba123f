import { afterAll, beforeAll, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { type RunningService, startService } from '../support/service.ts';
import { WorkMeter } from '../support/work-meter.ts';
import { RecordSpace } from './record-space.ts';

/**
 * Many jobs of one space at work at once: together they hold a turn of the event loop no longer than one of them does. Work is
 * counted, and the clock of the service passes by work alone. Before jobs took turns in one room, 25 evaluations did 41,000 steps in
 * a turn where one does 13,000, and 25 imports of graphs 39,000 where one does 4,000.
 */

/** As many as one space may have active. */
const JOBS = 25;
/** A transaction that one turn writes holds the changes of several jobs, and they all go on behind it. */
const STEPS_BESIDE = 1_500;

/**
 * A part that begins as a store answers and one from the line may meet in a turn, and the meter ends its turns between them. Parts
 * of all jobs would meet in each measurement.
 */
const MEASUREMENTS_MAX = 3;

let meter: WorkMeter;
let service: RunningService;
let space: RecordSpace;

beforeAll(async () => {
  meter = new WorkMeter();
  const world = meter.world(machine);
  service = await startService({ world, settings: { 'Embeddings:Provider': 'deterministic-hash' } });
  space = new RecordSpace(service.call);
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 64 }];
  await space.create({ name: 'library', vectorPolicies });
  for (let page = 0; page < 2; page += 1) {
    const records = Array.from({ length: 150 }, (_, n) => recordOf(150 * page + n));
    await ended(await space.admit('POST', '/collections/library/records/batch', { records }));
  }
});
afterAll(async () => {
  // The service starts before the meter: without it the meter would count turns for ever.
  meter.close();
  await service.close();
});

const WORDS = ['harbour', 'river', 'night', 'fox', 'winter', 'garden', 'stone', 'letter'];
const textOf = (n: number, length: number) =>
  Array.from({ length }, (_, at) => `${WORDS[(n * 7 + at) % WORDS.length]}${(n + at * at) % 5}`).join(' ');
const recordOf = (n: number) => {
  return { id: `r${n}`, partitionKey: 'p', type: 'note', content: { text: textOf(n, 60) } };
};

/** The request of a job of each family; `n` makes each different. */
const families: Readonly<Record<string, (n: number) => readonly [path: string, body: object]>> = {
  'evaluate searches': () => [
    '/retrieval/evaluate/jobs',
    {
      cases: Array.from({ length: 6 }, (_, at) => {
        const query = textOf(at, 3);
        return { request: { query, collections: ['library'], limit: 50 }, expected: [{ id: `r${at}` }] };
      }),
    },
  ],
  'ingest documents': (n) => [
    '/collections/library/rag/ingest-text/jobs',
    { documentId: `d${n}`, partitionKey: 'd', text: textOf(n, 4_000), options: { chunkChars: 800 } },
  ],
  'import graphs': (n) => [`/collections/graph${n}/graph/import`, { envelope: graphOf(n) }],
  'write records': (n) => [
    '/collections/library/records/batch',
    { records: Array.from({ length: 60 }, (_, at) => recordOf(1_000 + 60 * n + at)) },
  ],
  'embed texts': (n) => [
    '/embeddings/jobs',
    { texts: Array.from({ length: 40 }, (_, at) => textOf(40 * n + at, 200)) },
  ],
};

function graphOf(n: number): object {
  const nodes = Array.from({ length: 150 }, (_, at) => {
    return { id: `${at}`, type: 'person', label: textOf(n + at, 20) };
  });
  return { scope: { graphId: `g${n}` }, nodes, edges: [] };
}

async function ended(id: string): Promise<void> {
  for (;;) {
    const answer = await service.call({
      method: 'GET',
      path: `/execution/runs/${id}?waitSeconds=20&includeResult=false`,
    });
    const { status, error } = answer.json<{ readonly status: string; readonly error: string | null }>();
    if (status === 'succeeded') return;
    expect(['queued', 'running', 'waiting'], error ?? '').toContain(status);
  }
}

/** The steps of the turn with the most, while the jobs `from` to `to` are at work. */
async function stepsMost(family: string, from: number, to: number): Promise<number> {
  const jobs: string[] = [];
  for (let n = from; n < to; n += 1) jobs.push(await space.admit('POST', ...families[family]!(n)));
  const begin = meter.turns;
  await Promise.all(jobs.map(ended));
  return meter.since(begin).stepsMost;
}

test.each(Object.keys(families))(
  'jobs that %s hold a turn together no longer than one alone',
  async (family) => {
    // Modules load at the first job, which must not count as its work.
    await stepsMost(family, 0, 1);
    const alone = await stepsMost(family, 1, 2);
    const bound = 2 * alone + STEPS_BESIDE;
    let together = Infinity;
    for (let time = 0; time < MEASUREMENTS_MAX && together >= bound; time += 1)
      together = await stepsMost(family, 2 + time * JOBS, 2 + (time + 1) * JOBS);
    expect(together).toBeLessThan(bound);
  },
);
