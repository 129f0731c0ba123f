import { limits } from '../../../contracts/generated/limits.ts';
import type { ExecutionRun, ExecutionRunRequest } from '../../../contracts/generated/models.ts';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { exitCodes, ToolError } from '../../output.ts';
import type { CutJournal } from '../journal/cut.ts';

/** The tag of a new run that names the run which it repeats. */
const RERUN_TAG = 'rerunOf';
const TAGS_MAX = 32;
/** Of `null`. The service keeps no payload of a run that it rejected, but the hash. */
const NULL_HASH = 'sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b';

export interface RerunChoice {
  /** Replaces the payload of the run; absent for the same one. */
  readonly payload?: JsonValue | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The beginning of the journal, with the contents of its checkpoints; null for a whole run. */
  readonly journal: { readonly cut: CutJournal; readonly values: ReadonlyMap<string, JsonValue> } | null;
}

/** The start of a run that repeats another one. */
export function rerunRequest(
  run: ExecutionRun,
  { payload, idempotencyKey, journal }: RerunChoice,
): ExecutionRunRequest {
  if (payload === undefined && run.payload === null && run.payloadHash !== NULL_HASH)
    throw conflict('The service keeps no payload of a rejected run: give --payload FILE.');
  const { scope, correlationId, retryPolicy } = run;
  const checkpoints = journal === null ? [] : checkpointsOf(journal);
  return {
    handlerId: run.handlerId,
    payload: payload === undefined ? run.payload : payload,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    // Without one of its own the run has its id there.
    ...(correlationId === run.id ? {} : { correlationId }),
    ...(scope === null ? {} : { scope: { productId: scope.productId, tenantId: scope.tenantId } }),
    retryPolicy,
    tags: tagsOf(run),
    ...(checkpoints.length === 0 ? {} : { checkpoints }),
  };
}

function tagsOf({ id, tags }: ExecutionRun): Record<string, string> {
  const own = Object.entries(tags).filter(([name]) => !name.startsWith('svc.') && name !== RERUN_TAG);
  return Object.fromEntries(own.length < TAGS_MAX ? [...own, [RERUN_TAG, id]] : own);
}

type Checkpoints = NonNullable<ExecutionRunRequest['checkpoints']>;

function checkpointsOf({ cut, values }: NonNullable<RerunChoice['journal']>): Checkpoints {
  const segments = cut.segments.map(({ key, content, metadata }) => ({ key, content, metadata }));
  const missing = cut.values.find((key) => !values.has(key));
  if (missing !== undefined)
    throw conflict(`The run has no checkpoint ${JSON.stringify(missing)}, which its journal names.`);
  return [...segments, ...cut.values.map((key) => ({ key, content: values.get(key) }))] as Checkpoints;
}

/** Throws for a start that the service cannot take. */
export function checkSize(request: ExecutionRunRequest, bytesMax: number): void {
  const { length } = request.checkpoints ?? [];
  const most = limits.executionFirstCheckpointsMax;
  const remedy = 'name an earlier step, or run it whole';
  if (length > most)
    throw conflict(
      `The journal is too large to begin from: ${length} checkpoints of at most ${most}; ${remedy}.`,
    );
  const bytes = Buffer.byteLength(JSON.stringify(request));
  if (bytes > bytesMax) {
    const what = length === 0 ? 'The payload is too large' : 'The journal is too large to begin from';
    throw conflict(`${what}: ${bytes} bytes of at most ${bytesMax}${length === 0 ? '' : `; ${remedy}`}.`);
  }
}

function conflict(message: string): ToolError {
  return new ToolError(message, exitCodes.conflict);
}
