/**
 * The four outbox calls that a dispatcher needs. `HttpOutboxClient` makes them over HTTP. Another client implements
 * the interface and throws `OutboxCallError` to classify a failure; any other error counts as `transient`.
 */
export interface OutboxClient {
  /** Leases due events. If none is due, the call waits up to `waitSeconds` for one. */
  lease(request: LeaseRequest, options: CallOptions): Promise<readonly OutboxLease[]>;
  /** Extends the lease to `leaseSeconds` from now. */
  renew(hold: Hold, leaseSeconds: number, options: CallOptions): Promise<void>;
  /** Marks the event as delivered. A repeated call with the same token must be safe. */
  acknowledge(hold: Hold, options: CallOptions): Promise<void>;
  /** Releases the event, which becomes due again after a delay. */
  release(hold: Hold, release: Release, options: CallOptions): Promise<void>;
}

export interface LeaseRequest {
  readonly tenantId: string;
  readonly consumerId: string;
  readonly maxItems: number;
  readonly leaseSeconds: number;
  readonly waitSeconds: number;
}

/** Identifies a lease in later calls. The token is a secret. */
export interface Hold {
  readonly tenantId: string;
  readonly eventId: string;
  readonly leaseToken: string;
}

export interface Release {
  readonly retryAfterSeconds: number;
  readonly error: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
}

export interface OutboxLease {
  readonly event: OutboxEvent;
  readonly leaseToken: string;
}

/** A leased event with the members that dispatchers and handlers use. */
export interface OutboxEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly transactionId: string;
  readonly topic: string;
  readonly key: string;
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** The number of this delivery, counted from 1. */
  readonly deliveryCount: number;
  /** After this many deliveries without an acknowledgement the event is dead-lettered; `null`: never. */
  readonly maxDeliveryAttempts: number | null;
  /** The error that the previous release recorded. */
  readonly lastError: string | null;
}

/**
 * - `lost`: the lease expired or another consumer holds it; nothing may be done under it any more.
 * - `transient`: a repeated call may succeed; whether this one took effect is unknown.
 * - `refused`: a repeated call fails too, because of the caller or its configuration.
 */
export type CallFailure = 'lost' | 'transient' | 'refused';

export class OutboxCallError extends Error {
  readonly failure: CallFailure;
  /** The delay that the service asked for, or `null`. */
  readonly retryAfterMs: number | null;
  /** The code of the service's problem document, such as `lease_stale`. */
  readonly code: string | null;

  constructor(
    failure: CallFailure,
    message: string,
    more: {
      readonly retryAfterMs?: number | null;
      readonly code?: string | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'OutboxCallError';
    this.failure = failure;
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.code = more.code ?? null;
  }
}

export function failureOf(error: unknown): CallFailure {
  return error instanceof OutboxCallError ? error.failure : 'transient';
}
