import type { Json } from '../kernel/canonical-json.ts';
import { parseJson } from '../kernel/json-text.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type Checkpoint, readCheckpointRecord } from './checkpoint.ts';
import { missingRun } from './held.ts';
import {
  checkpointKey,
  RUN_TRACE_PARTS,
  readRun,
  runKey,
  TRACE_LAST_INDEX,
  VALUES,
  valueKey,
} from './records.ts';
import type { Run, StoredValue, TraceEntry } from './run.ts';
import type { Runtime } from './runtime.ts';
import { PAYLOAD_VALUE, RESULT_VALUE } from './values.ts';

export async function findRun(runtime: Runtime, runId: string): Promise<Run | undefined> {
  const store = await runtime.store();
  const key = runKey(runId);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key, view: 'body' }] });
  return records[0] === undefined ? undefined : readRun(records[0], runId);
}

export async function requireRun(runtime: Runtime, runId: string): Promise<Run> {
  const run = await findRun(runtime, runId);
  if (run === undefined) throw missingRun();
  return run;
}

/** Loads the JSON of values that never change, inline or in records of their own, in the given order. */
export async function loadValues(runtime: Runtime, values: readonly StoredValue[]): Promise<Json[]> {
  return (await findValues(runtime, values)).map(whole);
}

/** Loads values, with `undefined` for each that has no record, or no record of its version. */
export async function findValues(
  runtime: Runtime,
  values: readonly StoredValue[],
): Promise<(Json | undefined)[]> {
  const records = values.flatMap((value) => ('record' in value ? [value.record] : []));
  if (records.length === 0) return values.map((value) => ('json' in value ? value.json : null));
  const store = await runtime.store();
  const keys = records.map((record) => ({ key: valueKey(record), view: 'body' as const }));
  const found = await store.query(runtime.scope, { by: 'keys', keys });
  return values.map((value) => valueIn(found.records, value));
}

function valueIn(records: readonly RecordData[], value: StoredValue): Json | undefined {
  if ('json' in value) return value.json;
  const found = records.find(({ key }) => key.collection === VALUES.name && key.id === value.record);
  if (found === undefined || (found.head.version ?? null) !== (value.version ?? null)) return undefined;
  return parseJson(found.body ?? 'null') as Json;
}

function whole(json: Json | undefined): Json {
  if (json === undefined) throw new StoreError('corrupt', 'a run names a value that is not there');
  return json;
}

export interface WholeRun {
  readonly run: Run;
  readonly payload: Json;
  readonly result: Json;
}

/** Reads the run as of one moment, with its payload and result; `null` if it is removed. */
export async function findWhole(runtime: Runtime, { id, payload, quietBy }: Run): Promise<WholeRun | null> {
  const store = await runtime.store();
  const key = runKey(id);
  // A later start may have replaced a small payload by a large one.
  const mayBeRecord = quietBy !== undefined || 'record' in payload;
  const names = [recordId(id, RESULT_VALUE), ...(mayBeRecord ? [recordId(id, PAYLOAD_VALUE)] : [])];
  const keys = [key, ...names.map(valueKey)].map((each) => ({ key: each, view: 'body' as const }));
  const { records } = await store.query(runtime.scope, { by: 'keys', keys });
  const record = records.find((each) => each.key.collection === key.collection);
  if (record === undefined) return null;
  const run = readRun(record, id);
  return {
    run,
    payload: whole(valueIn(records, run.payload)),
    result: whole(valueIn(records, run.result)),
  };
}

const TRACE_PAGE = 20;

/** Reads the oldest `limit` trace entries after `afterId`, in the order of their sequence ids. */
export async function readTrace(
  runtime: Runtime,
  run: Run,
  limit: number,
  afterId: string | null,
): Promise<TraceEntry[]> {
  const store = await runtime.store();
  const found: TraceEntry[] = [];
  const isWanted = ({ sequenceId }: TraceEntry) => afterId === null || sequenceId > afterId;
  const begin =
    afterId === null ? {} : { range: { index: TRACE_LAST_INDEX, from: afterId }, orderBy: TRACE_LAST_INDEX };
  const selection = { collection: RUN_TRACE_PARTS, group: run.id, ...begin, limit: TRACE_PAGE };
  for await (const { body } of recordsOf(listPages(store, runtime.scope, selection))) {
    found.push(...(parseJson(body ?? '[]') as TraceEntry[]).filter(isWanted));
    if (found.length >= limit) return found.slice(0, limit);
  }
  // The run was read before the records, so an entry that moved between the reads is in both.
  const seen = new Set(found.map(({ sequenceId }) => sequenceId));
  found.push(...run.trace.filter((entry) => isWanted(entry) && !seen.has(entry.sequenceId)));
  return found.slice(0, limit);
}

export async function findCheckpoint(
  runtime: Runtime,
  runId: string,
  key: string,
): Promise<Checkpoint | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, {
    by: 'keys',
    keys: [{ key: checkpointKey(runId, key), view: 'body' }],
  });
  return records[0] === undefined ? null : readCheckpointRecord(records[0]);
}
