import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose } from '../../functions/compose/compose.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { inject } from '../../functions/http/host-inject.ts';
import { watchMemory } from './copies-memory.ts';

const RECORDS = 10_000;
const IMPORTS = 10;
const ROUNDS = 3;
const POLL_MS = 50;

/** Memory of one process over SQLite while imports of 10,000 records run: one alone, then ten at a time in three rounds. */
export async function benchRecordsImportMemory(): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-import-memory-'));
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: { SVC_DATA_DIR: folder },
    argv: ['--Records:ImportPayloadBytesMax=33554432', '--Server:LogLevel=error'],
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const service = compose(settings, { writeLog: () => undefined });
  await service.start();
  const chain = await service.chain(['collections', 'records']);
  const importInto = async (collection: string) => {
    const path = `/collections/${collection}/import/jobs`;
    const { body } = await inject(chain, { method: 'POST', path, body: importBody(collection) });
    const { id } = JSON.parse(body) as { id?: string };
    if (id === undefined) throw new Error(body);
    return () => ended(id);
  };
  const ended = async (id: string): Promise<void> => {
    for (;;) {
      const answer = await inject(chain, { method: 'GET', path: '/record-import/jobs?limit=100' });
      const job = answer.json<{ id: string; status: string }[]>().find((each) => each.id === id);
      if (job?.status === 'succeeded') return;
      if (job?.status !== 'running' && job?.status !== 'queued') throw new Error(`the import ${job?.status}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  const measured = async (collections: readonly string[]) => {
    const memory = watchMemory();
    const began = performance.now();
    const waits: (() => Promise<void>)[] = [];
    for (const collection of collections) waits.push(await importInto(collection));
    await Promise.all(waits.map((wait) => wait()));
    const seconds = (performance.now() - began) / 1_000;
    const { peakOwnMb } = memory.stop();
    return { peakOwnMb, recordsPerSecond: Math.round((collections.length * RECORDS) / seconds) };
  };
  try {
    const one = await measured(['first']);
    const rounds: object[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push(await measured(Array.from({ length: IMPORTS }, (_, index) => `c${round}-${index}`)));
    const payloadMb = Math.round(Buffer.byteLength(importBody('c')) / 100_000) / 10;
    return { bench: 'records-import-memory', records: RECORDS, payloadMb, one, [`of${IMPORTS}`]: rounds };
  } finally {
    await service.close();
    await rm(folder, { recursive: true });
  }
}

function importBody(collection: string): string {
  const records = Array.from({ length: RECORDS }, (_, index) => ({
    id: `record-${index}`,
    partitionKey: `p${index % 100}`,
    type: 'note',
    metadata: { index, even: index % 2 === 0 },
    content: { text: `The text of record ${index} `.repeat(8) },
  }));
  return JSON.stringify({ snapshot: { collection, policy: { name: collection }, records } });
}
