import type { Run, RunWait, StoredValue } from '../run.ts';
import { type LeaseProof, leaseRun, type RunLeaseGrant } from './lease.ts';
import { createRun, type HandlerFacts, type StartRequest } from './start.ts';

export const NOW = Date.UTC(2026, 0, 1);
export const OPTIONS = { leaseExpirationsMax: 3 };
export const TTL_MS = 60_000;
export const ID = '00822868566016000115';

export const handler: HandlerFacts = {
  handlerId: 'h',
  pluginId: 'p',
  maxAttempts: 1,
  concurrencyKey: null,
};

export function startRequest(more: Partial<StartRequest> = {}): StartRequest {
  return {
    handlerId: 'h',
    pluginId: null,
    payload: { a: 1 },
    payloadHash: 'sha256:a',
    payloadBytes: 7,
    idempotencyKey: null,
    correlationId: null,
    scope: null,
    scheduledAt: null,
    retryPolicy: null,
    tags: {},
    operationId: 'startExecutionRun',
    ...more,
  };
}

export function queuedRun(more: Partial<Run> = {}): Run {
  const fresh = { id: ID, payload: { json: { a: 1 } } satisfies StoredValue, keyHash: null };
  const { run } = createRun(startRequest(), handler, fresh, NOW);
  return { ...run, counted: true, ...more };
}

export const proof: LeaseProof = { tokenHash: 'sha256:token', workerId: 'w' };

export function grantOf(more: Partial<RunLeaseGrant> = {}): RunLeaseGrant {
  return { kind: 'external', ...proof, ttlMs: TTL_MS, concurrencyKey: null, ...more };
}

/** A run leased at `NOW`, with the proof of its lease. */
export function runningRun(more: Partial<Run> = {}): Run {
  const change = leaseRun(queuedRun(), grantOf(), NOW);
  if (change === null) throw new Error('a queued run was not leased');
  return { ...change.run, ...more };
}

/** A waiting run, by default on an event without a deadline. */
export function parkedRun(wait: Partial<RunWait> = {}, more: Partial<Run> = {}): Run {
  const whole: RunWait = {
    kind: 'external_event',
    name: 'go',
    dueAt: null,
    registeredAt: NOW,
    timerId: null,
    payload: { json: null },
    ...wait,
  };
  const running = runningRun();
  return {
    ...running,
    status: 'waiting',
    lease: null,
    endedLease: { ...proof, how: 'suspended' },
    scheduledAt: whole.dueAt,
    wait: whole,
    ...more,
  };
}

export function typesOf(change: { readonly events: readonly { readonly type: string }[] } | null): string[] {
  return change?.events.map(({ type }) => type) ?? [];
}
