import { limits } from '../../../contracts/generated/limits.ts';
import type { ExecutionRuntimeAdapterStatus } from '../../../contracts/generated/models.ts';
import type { Handler } from '../../http/handler.ts';
import { permissionDenied } from '../../identity/grants.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { countActive } from '../../runs/read-runs.ts';
import { activeCounterKey } from '../../runs/records.ts';
import type { RuntimeOptions } from '../../runs/runtime.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { verified } from './run-operations.ts';
import { wireHandler } from './wire.ts';

export function getExecutionRuntime(dependencies: ExecutionDependencies): Handler<'getExecutionRuntime'> {
  const { registry } = dependencies.runtime;
  return async (_input, { caller, now }) => {
    dependencies.access?.authorizeMaintenance(verified(caller));
    const plugins = registry.plugins.map(({ pluginId, name, version, handlerIds }) => ({
      pluginId,
      name,
      version,
      handlers: registry.handlers.filter(({ handlerId }) => handlerIds.includes(handlerId)).map(wireHandler),
    }));
    return {
      status: 200,
      body: {
        status: await statusOf(dependencies, now),
        plugins,
        handlers: registry.handlers.map(wireHandler),
      },
    };
  };
}

/** Handlers that the caller may start in the requested scope. */
export function getEffectiveExecutionRuntime(
  dependencies: ExecutionDependencies,
): Handler<'getEffectiveExecutionRuntime'> {
  const { access, runtime } = dependencies;
  return async ({ query }, { caller, now }) => {
    const productId = query.productId ?? null;
    const tenantId = query.tenantId ?? null;
    const status = { ...(await statusOf(dependencies, now)), details: null };
    const all = runtime.registry.handlers;
    if (access === null) {
      const scope = { sharedExecution: false, scopeRequired: false, productId, tenantId };
      return { status: 200, body: { status, scope, handlers: all.map(wireHandler) } };
    }
    const scope = productId === null || tenantId === null ? null : { productId, tenantId };
    const allowed = access.allowedHandlers(verified(caller), scope);
    if (allowed === null) throw permissionDenied();
    const handlers = allowed === 'all' ? all : all.filter(({ handlerId }) => allowed.includes(handlerId));
    const scopeFacts = { sharedExecution: true, scopeRequired: scope === null, productId, tenantId };
    return { status: 200, body: { status, scope: scopeFacts, handlers: handlers.map(wireHandler) } };
  };
}

async function statusOf(
  { runtime, adapter }: ExecutionDependencies,
  now: number,
): Promise<ExecutionRuntimeAdapterStatus> {
  const { options } = runtime;
  const counters = Array.from({ length: options.counterShards }, (_, shard) => activeCounterKey(shard));
  return {
    adapter: {
      adapterId: options.adapterId,
      runtimeKind: options.runtimeKind,
      displayName: adapter.displayName,
      version: adapter.version,
      capabilities: adapter.capabilities,
      metadata: adapter.metadata,
    },
    available: true,
    status: 'ok',
    checkedAtUtc: formatUtc(now),
    activeRuns: await countActive(runtime, counters),
    operationalPolicy: { ...policyOf(options), ...kept(adapter) },
    resumePolicy: RESUME_POLICY,
    details: null,
  };
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
