import { limits } from '../../../contracts/generated/limits.ts';
import type { ExecutionRuntimeAdapterStatus } from '../../../contracts/generated/models.ts';
import type { Handler } from '../../http/handler.ts';
import { permissionDenied } from '../../identity/grants.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { describeFailure } from '../../kernel/log.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { countActive, countVisible } from '../../runs/count-runs.ts';
import type { Runtime, RuntimeOptions } from '../../runs/runtime.ts';
import type { RunPart } from '../../runs/scope-index.ts';
import { StoreError } from '../../store/port.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { wireHandler } from './wire.ts';

export function getExecutionRuntime(dependencies: ExecutionDependencies): Handler<'getExecutionRuntime'> {
  const { registry } = dependencies.runtime;
  return async (_input, { caller, now }) => {
    dependencies.access?.authorizeMaintenance(verifiedCaller(caller));
    const plugins = registry.plugins.map(({ pluginId, name, version, handlerIds }) => ({
      pluginId,
      name,
      version,
      handlers: registry.handlers.filter(({ handlerId }) => handlerIds.includes(handlerId)).map(wireHandler),
    }));
    return {
      status: 200,
      body: {
        status: await statusOf(dependencies, now, null),
        plugins,
        handlers: registry.handlers.map(wireHandler),
      },
    };
  };
}

/** Handlers that the caller may start in the requested scope: those that its grants and the product policies allow. */
export function getEffectiveExecutionRuntime(
  dependencies: ExecutionDependencies,
): Handler<'getEffectiveExecutionRuntime'> {
  const { access, runtime } = dependencies;
  const { policies, registry } = runtime;
  return async ({ query }, { caller, now }) => {
    const productId = query.productId ?? null;
    const tenantId = query.tenantId ?? null;
    const scope = productId === null || tenantId === null ? null : { productId, tenantId };
    const allowed = access === null ? 'all' : access.allowedHandlers(verifiedCaller(caller), scope);
    if (allowed === null || (scope !== null && !policies.knows(scope)))
      throw permissionDenied({ right: 'start_run', tenantId });
    const scopeRequired = (access !== null || policies.active) && scope === null;
    const mayStart = (handlerId: string) =>
      !scopeRequired &&
      (allowed === 'all' || allowed.includes(handlerId)) &&
      policies.allowsHandler(scope, handlerId);
    const parts = access?.visibleRuns(verifiedCaller(caller)) ?? null;
    const status = { ...(await statusOf(dependencies, now, parts)), details: null };
    const handlers = registry
      .handlersIn(scope)
      .filter(({ handlerId }) => mayStart(handlerId))
      .map(wireHandler);
    const scopeFacts = { sharedExecution: access !== null, scopeRequired, productId, tenantId };
    return { status: 200, body: { status, scope: scopeFacts, handlers } };
  };
}

/** `parts`: the runs that the caller may see; `null` for all. */
async function statusOf(
  { runtime, adapter }: ExecutionDependencies,
  now: number,
  parts: readonly RunPart[] | null,
): Promise<ExecutionRuntimeAdapterStatus> {
  const { options } = runtime;
  const store = await storeState(runtime, parts);
  return {
    adapter: {
      adapterId: options.adapterId,
      runtimeKind: options.runtimeKind,
      displayName: adapter.displayName,
      version: adapter.version,
      capabilities: adapter.capabilities,
      metadata: adapter.metadata,
    },
    available: store.status === 'ok',
    status: store.status,
    checkedAtUtc: formatUtc(now),
    activeRuns: store.activeRuns,
    operationalPolicy: { ...policyOf(options), ...kept(adapter) },
    resumePolicy: RESUME_POLICY,
    details: null,
  };
}

interface StoreState {
  readonly status: 'ok' | 'storage_full' | 'unavailable';
  readonly activeRuns: number | null;
}

/** A failed read of the store is part of the answer and no error, because the caller asks for the state of the store. */
async function storeState(runtime: Runtime, parts: readonly RunPart[] | null): Promise<StoreState> {
  let activeRuns: number | null = null;
  try {
    activeRuns = parts === null ? await countActive(runtime) : await countVisible(runtime, parts);
    await (await runtime.store()).ping();
    return { status: 'ok', activeRuns };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    runtime.log({ severity: 'WARNING', message: 'The store of runs fails', failure: describeFailure(error) });
    return { status: error.failure === 'full' ? 'storage_full' : 'unavailable', activeRuns };
  }
}

function kept({ concurrencyKeyPolicy, retentionScope }: ExecutionDependencies['adapter']) {
  return { concurrencyKeyPolicy, retentionScope };
}

function policyOf(options: RuntimeOptions) {
  return {
    maxActiveRuns: options.activeRunsMax ?? Number.MAX_SAFE_INTEGER,
    maxRetainedTerminalRuns: options.retainedRunsMax,
    defaultListLimit: options.listLimitDefault,
    maxListLimit: options.listLimitMax,
    defaultHistoryLimit: options.historyLimitDefault,
    maxHistoryLimit: options.historyLimitMax,
    maxPayloadBytes: options.payloadBytesMax,
    maxResultBytes: options.resultBytesMax,
    maxStatusDetailsBytes: limits.executionStatusDetailsBytesMax,
    maxArtifactBytes: limits.executionArtifactBytesMax,
    maxArtifactInlineBytes: options.artifactInlineBytesMax,
    maxTraceMessageChars: limits.executionTraceMessageLengthMax,
    maxTraceDetailsBytes: limits.executionTraceDetailsBytesMax,
    maxRetryAttempts: limits.executionAttemptsMax,
    maxRetryDelaySeconds: limits.executionRetryDelaySecondsMax,
    maxLeaseTtlSeconds: limits.executionLeaseSecondsMax,
    concurrencyRetryDelayMs: options.concurrencyRetryDelayMs,
    defaultTraceSeverity: 'info',
  };
}

const RESUME_POLICY = {
  mode: 'restart_recovery',
  interruptedRunningBehavior: 'may_reexecute_handler',
  scheduledWaitingBehavior: 'dispatch_when_due',
  terminalBehavior: 'never_resume',
  pluginCheckpointBehavior: 'plugin_owned',
  idempotencyScope: 'handler_plugin_payload',
  createsLinkedFollowUpRuns: false,
} as const;
