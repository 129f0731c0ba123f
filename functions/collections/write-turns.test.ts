import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { limits } from '../../test/conformance/records-stage.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { CountedTurns } from '../../test/support/counted-turns.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { writePlan } from '../rag/write-plan.ts';
import { createRecordParts } from './parts.ts';
import { createCollection } from './pointers.ts';
import { reindexPage } from './reindex-page.ts';
import { readPolicy } from './rules/policy.ts';
import { newestFormat } from './search/formats.ts';
import { writeChunk } from './write-chunk.ts';
import { upsertRecord } from './write-records.ts';

const SPACE = 's';
const KEY = { partitionKey: 'p', id: 'i' };
/** Words, leaves, or members of a record; a step has no more of them than this. */
const ITEMS = 60_000;
const STEP_ITEMS = 4_096;

const words = Array.from({ length: ITEMS }, (_, n) => `w${n.toString(36)}`);
const records = Object.entries({
  'a text of many words': { content: words.join(' ') },
  'a text of many short words': { content: words.map(() => 'a').join(' ') },
  'many texts': { content: words },
  'many members': Object.fromEntries(words.map((word) => [word, 1])),
  'many values without a text': { content: words.map(() => []) },
}).map(([name, record]) => [name, JSON.stringify({ ...record, ...KEY })] as const);

async function stage() {
  const counted = new CountedTurns();
  const { clock, timers, http } = new ManualWorld();
  const store = new MemoryStore(new MemoryDatabase());
  const parts = createRecordParts({
    store: () => Promise.resolve(store),
    world: { clock, timers, http, turns: counted.room, random: { bytes: randomBytes } },
    limits,
  });
  const collection = await createCollection(parts, SPACE, readPolicy({ name: 'c' }));
  return { counted, parts, collection };
}

test.each(records)(
  'a record of %s is written in a step for each 4,096 of them, at the least',
  async (_, text) => {
    const { counted, parts } = await stage();
    await upsertRecord(parts, SPACE, 'c', text, null);
    expect(counted.asked).toBeGreaterThan(ITEMS / STEP_ITEMS);
  },
);

test.each(records)('a record of %s in a batch or an import is written in as many steps', async (_, text) => {
  const { counted, parts } = await stage();
  await writeChunk(parts, SPACE, { name: 'c' }, [{ text }], { continueOnError: false });
  expect(counted.asked).toBeGreaterThan(ITEMS / STEP_ITEMS);
});

test.each(records)('a record of %s that a plan writes is written in as many steps', async (_, text) => {
  const { counted, parts, collection } = await stage();
  await writePlan(parts, SPACE, collection, [{ key: KEY, seen: null, text: () => text }]);
  expect(counted.asked).toBeGreaterThan(ITEMS / STEP_ITEMS);
});

test.each(records)('a record of %s that gets a new entry is written in as many steps', async (_, text) => {
  const { counted, parts, collection } = await stage();
  await upsertRecord(parts, SPACE, 'c', text, null);
  const before = counted.asked;
  await reindexPage(parts, SPACE, { collection, format: newestFormat(), run: 'r' }, null);
  expect(counted.asked - before).toBeGreaterThan(ITEMS / STEP_ITEMS);
});

test('a short record is written without a look at the clock of the turns', async () => {
  const { counted, parts } = await stage();
  await upsertRecord(parts, SPACE, 'c', JSON.stringify({ ...KEY, content: 'a few words' }), null);
  expect(counted.asked).toBe(0);
});
