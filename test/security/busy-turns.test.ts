import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type Work, WorkMeter } from '../support/work-meter.ts';
import { RecordSpace } from './record-space.ts';

/**
 * A neighbour whose calls take long: each turn of the event loop does a small part of them, and a commit of another tenant is answered
 * between two parts. Work is counted, so no machine is too slow for these tests and none too fast. The calls carry
 * no tokens: the thread pool verifies their signatures, and the meter counts the work of the event loop alone.
 */

/** A transaction of 100 records is the largest part that cannot be divided. */
const STEPS_MAX = 7_000;
/** How often the longest text is parsed, written and hashed in one turn: six times by the part with the most, and two may meet. */
const TURN_PASSES_MAX = 16;
/** Turns until a commit is answered: it is written in the turn behind the one that has read it. */
const ANSWER_TURNS_MAX = 4;
/** Turns of others between two commits. */
const TURNS_BETWEEN = 20;
/**
 * The parts of two calls may meet in one turn, as those of a job and of a request for its state. They seldom do. A part that is too long
 * is so in each measurement.
 */
const MEASUREMENTS_MAX = 3;
/** How often the characters of a request are read, written or hashed until its work is done. */
const PASSES_MAX = 64;

let meter: WorkMeter;
let service: RunningService;
let imported: Neighbour;
let ingested: Neighbour;
const victim = `victim-${randomUUID()}`;

beforeAll(async () => {
  meter = new WorkMeter();
  service = await startService({
    world: meter.world(machine),
    settings: {
      'Records:ImportPayloadBytesMax': '8388608',
      'Embeddings:Provider': 'deterministic-hash',
    },
  });
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 64 }];
  await new RecordSpace(service.call).create({ name: 'library', vectorPolicies });
  // Modules load at the first call, which must not count as its work.
  await commit();
  // Each measurement uses new names, so that no record can be left unchanged.
  imported = await measured((time) =>
    admitted(`/collections/crowd${time}/graph/import`, { envelope: crowd }),
  );
  ingested = await measured((time) => admitted('/collections/library/rag/ingest-text/jobs', bookOf(time)));
});
afterAll(async () => {
  // The service starts before the meter: without it the meter would count turns for ever.
  meter.close();
  await service.close();
});

const NODES = 2_600;
/** A tree: all nodes are reached from its root. */
const crowd = {
  scope: { graphId: 'crowd' },
  nodes: Array.from({ length: NODES }, (_, n) => ({ id: `${n}`, type: 'person', label: 'x'.repeat(200) })),
  edges: Array.from({ length: NODES - 1 }, (_, n) => ({
    id: `${n}`,
    sourceId: `${Math.floor(n / 2)}`,
    targetId: `${n + 1}`,
    predicate: 'knows',
  })),
};
const TEXT_LENGTH = 2_000_000;
/** Each chunk has the first word, and words of its own. */
const LINE_LENGTH = 40;
function textOf(time: number): string {
  return Array.from({ length: TEXT_LENGTH / LINE_LENGTH }, (_, n) =>
    `harbour ${time}${n}`.padEnd(LINE_LENGTH - 1, ` word${time}${n}`),
  ).join('\n');
}
/** In an answer at most, and fewer than the document makes. */
const CHUNKS = 1_000;
function bookOf(time: number): object {
  return { documentId: `book${time}`, partitionKey: 'p', text: textOf(time), options: { chunkChars: 1_200 } };
}

interface Neighbour extends Work {
  /** Turns until each commit of the victim was answered, where the work went on. */
  readonly answerTurns: readonly number[];
}

/** Measures the work, again where one of its turns was too long. */
async function measured(work: (time: number) => Promise<unknown>): Promise<Neighbour> {
  for (let time = 1; ; time += 1) {
    const found = await beside(() => work(time));
    if (isShort(found) || time === MEASUREMENTS_MAX) return found;
  }
}

function isShort({ stepsMost, charactersMost, answerTurns }: Neighbour): boolean {
  const isAnswered = Math.max(...answerTurns) <= ANSWER_TURNS_MAX;
  return isAnswered && stepsMost < STEPS_MAX && charactersMost < TURN_PASSES_MAX * TEXT_LENGTH;
}

/** Makes a commit of the victim again and again until the work is over. */
async function beside(work: () => Promise<unknown>): Promise<Neighbour> {
  const begin = meter.turns;
  const answerTurns: number[] = [];
  const state = { isOver: false };
  const over = () => {
    state.isOver = true;
  };
  const done = work();
  done.then(over, over);
  while (!state.isOver) {
    const before = meter.turns;
    await commit();
    if (!state.isOver) answerTurns.push(meter.turns - before);
    for (let turn = 0; turn < TURNS_BETWEEN && !state.isOver; turn += 1) await nextTurn();
  }
  await done;
  return { ...meter.since(begin), answerTurns };
}

async function commit(): Promise<void> {
  const document = {
    tenantId: victim,
    documentType: 'order',
    id: randomUUID(),
    schemaVersion: '1',
    data: {},
  };
  const answer = await service.call({
    method: 'POST',
    path: `/canonical/tenants/${victim}/transactions`,
    body: { idempotencyKey: randomUUID(), mutations: [{ operation: 'upsert', document }] },
    socketAddress: '127.0.0.2',
  });
  expect(answer.status, answer.body).toBe(200);
}

/** A call of the neighbour, for its answer. */
async function asked(path: string, body: object, status = 200): Promise<string> {
  const answer = await service.call({ method: 'POST', path, body });
  expect(answer.status, answer.body.slice(0, 500)).toBe(status);
  return answer.body;
}

/** Starts a job of the neighbour and waits until it has succeeded. */
async function admitted(path: string, body: object): Promise<void> {
  const { id } = JSON.parse(await asked(path, body, 202)) as { readonly id: string };
  for (;;) {
    const run = await service.call({ method: 'GET', path: `/execution/runs/${id}?waitSeconds=20` });
    const { status } = run.json<{ readonly status: string }>();
    if (status === 'succeeded') return;
    expect(['queued', 'running'], run.body).toContain(status);
  }
}

function expectShared({ answerTurns, turns, ...work }: Neighbour, turnsMin: number): void {
  expect(work.stepsMost).toBeLessThan(STEPS_MAX);
  expect(work.charactersMost).toBeLessThan(TURN_PASSES_MAX * TEXT_LENGTH);
  expect(turns.length).toBeGreaterThan(turnsMin);
  expect(answerTurns.length).toBeGreaterThan(0);
  expect(Math.max(...answerTurns)).toBeLessThanOrEqual(ANSWER_TURNS_MAX);
}

describe('D13: a busy neighbour', () => {
  test('that imports a large graph', () => {
    expectShared(imported, 100);
    expect(imported.characters).toBeLessThan(PASSES_MAX * JSON.stringify(crowd).length);
  });

  test('that asks what the import of a large graph would do', async () => {
    const path = '/collections/crowd1/graph/import/preflight';
    expectShared(await measured(() => asked(path, { envelope: crowd })), 20);
  });

  test.each([
    ['by its indexes', 500, 'indexes', {}],
    ['by its indexes in one partition', 500, 'indexes', { partitionKey: 'graph:crowd' }],
    ['over an export', NODES, 'export', {}],
  ])('that walks a large graph %s', async (_, limit, scanMode, choice) => {
    const profile = { limit, edgeLimit: limit, maxDepth: 50, direction: 'outgoing' };
    const body = { startNodeIds: ['0'], profile, ...choice };
    let answer = '';
    const walk = async () => {
      answer = await asked('/collections/crowd1/graph/traverse', body);
    };
    expectShared(await measured(walk), 20);
    const { projection, nodeCount } = JSON.parse(answer) as {
      readonly projection: { readonly diagnostics: object };
      readonly nodeCount: number;
    };
    expect([projection.diagnostics, nodeCount]).toMatchObject([{ scanMode }, limit]);
  });

  test('that ingests the longest document', () => {
    expectShared(ingested, 100);
    expect(ingested.characters).toBeLessThan(PASSES_MAX * TEXT_LENGTH);
  });

  test.each([
    ['a context', '/rag/context', (context: object) => context],
    ['a prompt', '/rag/prompt', (context: object) => ({ context })],
  ])('that asks for %s over many chunks', async (_, path, bodyOf) => {
    const context = {
      retrieval: { query: 'harbour', collections: ['library'], limit: CHUNKS },
      maxChars: TEXT_LENGTH,
      maxCharsPerChunk: 200,
      includeContextText: true,
    };
    let answer = '';
    const ask = async () => {
      answer = await asked(path, bodyOf(context));
    };
    expectShared(await measured(ask), 20);
    expect(answer.split('"originalTextLength"')).toHaveLength(CHUNKS + 1);
  });

  test('that exports a large tenant', async () => {
    await fill('bulk');
    let answer = '';
    const exporting = async () => {
      answer = (await service.call({ method: 'GET', path: '/canonical/tenants/bulk/export' })).body;
    };
    expectShared(await measured(exporting), 20);
    expect(answer.split('"schemaVersion"').length).toBeGreaterThan(2 * DOCUMENTS);
  });
});

const DOCUMENTS = 3_000;

/** Commits documents of a tenant, a hundred in each transaction. */
async function fill(tenantId: string): Promise<void> {
  const data = { text: 'x'.repeat(2_000) };
  for (let at = 0; at < DOCUMENTS; at += 100) {
    const mutations = Array.from({ length: 100 }, (_, n) => ({
      document: { tenantId, documentType: 'order', id: `${at + n}`, schemaVersion: '1', data },
    }));
    await asked(`/canonical/tenants/${tenantId}/transactions`, { idempotencyKey: `${at}`, mutations });
  }
}
