import { RECORD_BYTES_MAX } from '../../collections/rules/record-text.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { heavierMember } from './copied-members.ts';
import { chunkRecord, manifestRecord } from './ingest-records.ts';
import { RAG_CHUNKS_MAX } from './limits.ts';
import type { IngestPlan } from './plan.ts';
import type { PlannedChunk } from './plan-chunks.ts';

/** The most bytes of a UTF-16 unit in JSON, such as `\u0000`. */
const UNIT_BYTES_MAX = 6;
const SAMPLE_TIME = '2000-01-01T00:00:00.000Z';

/**
 * Refuses a plan with a record that is too large, before the first embedding and write, in short steps. A dry run gets the same
 * refusals. Throws `limit_exceeded` naming the member below `pointer`.
 */
export function* checkRecordSizes(plan: IngestPlan, pointer = ''): Generator<void, void> {
  const { document, chunks, manifest } = plan;
  const bytesOf = chunkBytes(plan);
  for (const chunk of chunks) {
    yield;
    if (chunk.action !== 'created' && chunk.action !== 'updated') continue;
    const bytes = bytesOf(chunk);
    if (bytes <= RECORD_BYTES_MAX) continue;
    const detail = `makes the record of a chunk have ${bytes} bytes, and a record has at most ${RECORD_BYTES_MAX}`;
    throw invalidMember(`${pointer}/${heavierMember(document)}`, detail, 'limit_exceeded');
  }
  if (manifest === null || manifest.action === 'reused') return;
  const bytes = Buffer.byteLength(manifestRecord(plan, manifest));
  if (bytes <= RECORD_BYTES_MAX) return;
  const detail = `makes a manifest of ${bytes} bytes, and a record has at most ${RECORD_BYTES_MAX}: use larger chunks, or a shorter idPrefix and partitionKey`;
  throw invalidMember(`${pointer}/options/chunkChars`, detail, 'limit_exceeded');
}

/**
 * An upper bound for the stored bytes of a chunk's record. The metadata may be large, and the chunks of a plan differ only in texts,
 * references and digits, so all other members are measured once.
 * @testonly
 */
export function chunkBytes(plan: IngestPlan): (chunk: PlannedChunk) => number {
  const [first] = plan.chunks;
  if (first === undefined) return () => 0;
  const { text, embedding } = plan.document;
  const { length } = text;
  const widest = { index: RAG_CHUNKS_MAX, charStart: length, charEnd: length, prefixLength: length };
  const sample = { ...first, ...widest, text: '', prefixApplied: false, vectorFrom: null };
  const vector = { values: new Float32Array(), generatedAt: SAMPLE_TIME };
  const base64 = 4 * Math.ceil((4 * embedding.embedder.dimensions) / 3);
  const common = Buffer.byteLength(chunkRecord(plan, sample, vector)) + base64;
  return (chunk) => {
    const own = common + referenceBytes(chunk);
    const most = own + UNIT_BYTES_MAX * chunk.text.length;
    return most <= RECORD_BYTES_MAX ? most : own + Buffer.byteLength(JSON.stringify(chunk.text));
  };
}

function referenceBytes({ vectorFrom }: PlannedChunk): number {
  if (vectorFrom === null) return 0;
  const { id, partitionKey } = vectorFrom;
  const members = { vectorReusedFromId: id, vectorReusedFromPartitionKey: partitionKey };
  return Buffer.byteLength(JSON.stringify(members));
}
