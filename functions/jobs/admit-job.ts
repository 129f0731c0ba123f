import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { Full } from '../kernel/full.ts';
import { queueFull, statusUri } from '../runs/admission.ts';
import { afterWrite } from '../runs/announcements.ts';
import type { StartRequest } from '../runs/rules/start.ts';
import type { Run, RunScope } from '../runs/run.ts';
import type { JobCaller, RunJob } from '../runs/run-job.ts';
import type { Runtime } from '../runs/runtime.ts';
import { type ReserveSlot, startHere } from '../runs/start-here.ts';
import { findStarted, isKeyUsed, type Started } from '../runs/start-run.ts';
import type { JobHandler, JobPlugin } from './job-plugin.ts';
import { withoutDetails } from './job-view.ts';

/** The parts with which the operations of a group admit and read jobs. */
export interface Jobs {
  readonly runtime: Runtime;
  /** Leases a new run in the transaction that admits it; absent where this process executes no handlers. */
  readonly reserve?: ReserveSlot;
}

export interface JobRequest {
  readonly operationId: string;
  readonly handlerId: string;
  readonly caller: JobCaller;
  readonly scope: RunScope | null;
  readonly space: string;
  readonly subject?: string | null;
  /** Path of the job views, if it contains values such as a tenant. Default: the path of the plugin. */
  readonly statusPath?: string;
  readonly payload: Json;
  /** Default: the payload limit of runs. */
  readonly payloadBytesMax?: number;
  /** The hash of the request, if the payload holds more or less than the request. Default: the hash of the payload. */
  readonly payloadHash?: string;
  /**
   * Stages a payload that is too large for a run, after the checks and before the admission, and returns the payload that refers to
   * it. A repeated request is not staged. `Full`: the space has no room for it, and the answer is `queue_full`.
   */
  readonly stage?: () => Promise<StagedPayload | Full>;
  /** Number of items in the request. */
  readonly requested?: number | null;
  readonly idempotencyKey: string | null;
  readonly correlationId?: string | null;
  /** The job removes data, so it is admitted also when its space is full. */
  readonly frees?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
  /** Binds the job to existing collections: it does not touch a collection that is created later under one of their names. */
  readonly bind?: () => Promise<NonNullable<RunJob['collections']>>;
}

export interface StagedPayload {
  readonly payload: Json;
  readonly tags: Readonly<Record<string, string>>;
  /** Removes the staged payload. Called if no run was admitted with it. */
  readonly discard: () => Promise<void>;
}

export interface AdmittedJob {
  readonly run: Run;
  readonly replayed: boolean;
  /** Header fields of the 202 answer. */
  readonly headers: { readonly Location: string; readonly 'Idempotency-Replayed'?: string };
}

/**
 * Admits a job in one transaction; the handler makes all other writes. The same key with the same payload returns the first job.
 * Throws the refusal of the group's access rules, `queue_full` at a limit, and `idempotency_conflict`.
 */
export async function admitJob(jobs: Jobs, plugin: JobPlugin, request: JobRequest): Promise<AdmittedJob> {
  await judge(plugin, request);
  const start = startRequest(jobs.runtime, plugin, request, await request.bind?.());
  return admittedJob(await admit(jobs, start, request.stage));
}

/**
 * The job that the same request started earlier, or `null` if its key is free. An operation needs this if its checks could refuse the
 * repeat of an accepted request. Throws the refusal of the group's access rules, and `idempotency_conflict`.
 */
export async function findJob(
  { runtime }: Jobs,
  plugin: JobPlugin,
  request: JobRequest,
): Promise<AdmittedJob | null> {
  await judge(plugin, request);
  const run = await findStarted(runtime, startRequest(runtime, plugin, request));
  return run === null ? null : admittedJob({ run, replayed: true });
}

/** Whether any job has the idempotency key, also a job of a different request. */
export function isJobKeyUsed(
  { runtime }: Jobs,
  plugin: JobPlugin,
  request: Omit<JobRequest, 'payload'>,
): Promise<boolean> {
  return isKeyUsed(runtime, startRequest(runtime, plugin, { ...request, payload: null }));
}

function judge(plugin: JobPlugin, request: JobRequest): Promise<void> | void {
  const { handlerId, caller, scope, space, subject = null } = request;
  return handlerOf(plugin, handlerId).judge({ handlerId, caller, scope, space, subject });
}

function admittedJob({ run, replayed }: Started): AdmittedJob {
  const repeated = replayed ? { 'Idempotency-Replayed': 'true' } : {};
  return { run, replayed, headers: { Location: statusUri(run.id, run.job), ...repeated } };
}

/** The 202 answer for an admitted job. A caller without the right to read does not see the details of a repeated job. */
export function accepted<View>(
  { run, replayed, headers }: AdmittedJob,
  view: (run: Run, result: null, replayed: boolean) => View,
  mayRead = true,
) {
  return { status: 202 as const, body: view(mayRead ? run : withoutDetails(run), null, replayed), headers };
}

async function admit(
  { runtime, reserve }: Jobs,
  start: StartRequest,
  stage: JobRequest['stage'],
): Promise<Started> {
  const now = runtime.world.clock.now();
  if (stage === undefined) return startHere(runtime, reserve, start, now);
  const earlier = await findStarted(runtime, start);
  if (earlier !== null) return { run: earlier, replayed: true };
  const staged = await stage();
  if ('limit' in staged) throw queueFull(start, runtime.ids.next(), now, staged);
  const { payload, tags, discard } = staged;
  const payloadBytes = Buffer.byteLength(canonicalJson(payload));
  const request = { ...start, payload, payloadBytes, tags: { ...start.tags, ...tags } };
  try {
    const started = await startHere(runtime, reserve, request, runtime.world.clock.now());
    if (started.replayed) await removeStaged(runtime, discard);
    return started;
  } catch (error) {
    // After any other error a run may have been admitted, so maintenance decides about the payload.
    if (error instanceof ServiceError) await removeStaged(runtime, discard);
    throw error;
  }
}

/** A failed removal does not change the caller's answer: maintenance removes the payload later. */
function removeStaged(runtime: Runtime, discard: StagedPayload['discard']): Promise<boolean> {
  return afterWrite(runtime, 'The payload of a job that was not admitted could not be removed', discard);
}

function handlerOf({ pluginId, handlers }: JobPlugin, handlerId: string): JobHandler {
  const handler = handlers.find((each) => each.handlerId === handlerId);
  if (handler === undefined) throw new Error(`plugin ${pluginId} has no handler ${handlerId}`);
  return handler;
}

function startRequest(
  { options }: Runtime,
  plugin: JobPlugin,
  request: JobRequest,
  collections: RunJob['collections'] = {},
): StartRequest {
  const text = canonicalJson(request.payload);
  const payloadBytes = Buffer.byteLength(text);
  const bytesMax = request.payloadBytesMax ?? options.payloadBytesMax;
  if (payloadBytes > bytesMax) {
    throw invalidMember('', `must be at most ${bytesMax} bytes as the payload of a job`, 'limit_exceeded');
  }
  return {
    handlerId: request.handlerId,
    pluginId: plugin.pluginId,
    payload: request.payload,
    payloadHash: request.payloadHash ?? sha256(text),
    payloadBytes,
    idempotencyKey: request.idempotencyKey,
    correlationId: request.correlationId ?? null,
    scope: request.scope,
    scheduledAt: null,
    retryPolicy: null,
    tags: { ...request.tags, 'svc.job': plugin.family, 'svc.admission.operation-id': request.operationId },
    operationId: request.operationId,
    job: jobOf(plugin, request, collections),
    frees: request.frees === true,
  };
}

function jobOf(
  plugin: JobPlugin,
  request: JobRequest,
  collections: NonNullable<RunJob['collections']>,
): RunJob {
  const { family } = plugin;
  const { space, subject = null, requested = null, statusPath = plugin.statusPath } = request;
  const { kind, principal } = request.caller;
  const bound = Object.keys(collections).length === 0 ? {} : { collections };
  return { family, statusPath, space, subject, caller: { kind, principal }, requested, ...bound };
}
