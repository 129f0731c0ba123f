import type { ExecutionCheckpoint, ExecutionRun } from '../../../contracts/generated/models.ts';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { mayContinue, segmentKey } from '../../../sdk/typescript/src/worker/steps/journal.ts';
import { exitCodes, ToolError } from '../../output.ts';
import { callOperation } from '../../remote/operations.ts';
import type { Remote } from '../../remote.ts';

/** The segments of the journal of a run, in their order; none where the run has no journal. */
export async function readSegments(
  remote: Remote,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<readonly JsonValue[]> {
  const segments: JsonValue[] = [];
  for (let number = 0; ; number += 1) {
    const content = await readCheckpoint(remote, runId, segmentKey(number), signal);
    if (content === undefined) return segments;
    segments.push(content);
    if (!mayContinue(content, number)) return segments;
  }
}

/** The contents of the checkpoints, by key; a checkpoint that is not there is left out. */
export async function readValues(
  remote: Remote,
  runId: string,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, JsonValue>> {
  const values = new Map<string, JsonValue>();
  for (const key of keys) {
    const content = await readCheckpoint(remote, runId, key, signal);
    if (content !== undefined) values.set(key, content);
  }
  return values;
}

async function readCheckpoint(
  remote: Remote,
  runId: string,
  key: string,
  signal: AbortSignal | undefined,
): Promise<JsonValue | undefined> {
  const params = [`runId=${runId}`, `key=${key}`];
  const shape = { members: ['key', 'content'] };
  const call = { id: 'getExecutionRunCheckpoint', params, signal, shape };
  try {
    const { data } = await callOperation<ExecutionCheckpoint>(remote, call);
    return data.content;
  } catch (error) {
    if (error instanceof ToolError && error.exitCode === exitCodes.notFound) return undefined;
    throw error;
  }
}

/** The run without its result; throws where it does not exist. */
export async function readPlainRun(
  remote: Remote,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<ExecutionRun> {
  const params = [`runId=${runId}`, 'includeResult=false'];
  const shape = { members: ['id', 'status', 'handlerId', 'payload', 'tags', 'scope', 'completedAtUtc'] };
  return (await callOperation<ExecutionRun>(remote, { id: 'getExecutionRun', params, signal, shape })).data;
}
