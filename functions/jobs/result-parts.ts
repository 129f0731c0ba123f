import type { Json } from '../kernel/canonical-json.ts';
import { isJsonObject } from '../kernel/json-kinds.ts';
import { parseJson } from '../kernel/json-text.ts';
import { readParts } from '../runs/read-checkpoints.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';

/** Bytes in one checkpoint: base64 adds a third, and a checkpoint holds at most 1 MiB. */
const PART_BYTES = 600 * 1024;

/** Stores the result in checkpoints of the run, and returns their number. */
export async function writeResultParts(context: JobContext, json: Buffer): Promise<number> {
  const parts = Math.ceil(json.byteLength / PART_BYTES);
  for (let part = 0; part < parts; part += 1) {
    const own = json.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
    await context.writeCheckpoint(partKey(part), own.toString('base64'));
  }
  return parts;
}

function partKey(part: number): string {
  return `result-${part}`;
}

/** The result of a run, read from checkpoints if it is stored there. `hold` counts its bytes before they are read. */
export async function resultInParts(
  { runtime }: Jobs,
  run: Run,
  result: Json,
  hold: (bytes: number) => void,
): Promise<Json> {
  if (!isJsonObject(result) || typeof result['parts'] !== 'number') return result;
  hold(Number(result['bytes']));
  const keys = Array.from({ length: result['parts'] }, (_, part) => partKey(part));
  const parts = (await readParts(runtime, run.id, keys)).map((part) => Buffer.from(part as string, 'base64'));
  return parseJson(Buffer.concat(parts).toString('utf8')) as Json;
}
