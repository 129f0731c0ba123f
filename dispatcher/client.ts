/**
 * What a dispatcher asks of an outbox: four calls, whoever makes them. `HttpOutboxClient` makes them over HTTP; a client
 * of another make (an SDK, a test's own) satisfies the interface by throwing `OutboxCallError` where it knows more than
 * that a call failed. Any other error counts as `transient`.
 */
export interface OutboxClient {
  /** Leases due events, and waits for one where none is due and `waitSeconds` says so. */
  lease(request: LeaseRequest, options: CallOptions): Promise<readonly OutboxLease[]>;
  /** Holds the lease for `leaseSeconds` from now. */
  renew(hold: Hold, leaseSeconds: number, options: CallOptions): Promise<void>;
  /** Marks the event delivered. Repeating it with the same token must be safe. */
  acknowledge(hold: Hold, options: CallOptions): Promise<void>;
  /** Gives the event back, due again after a while. */
  release(hold: Hold, release: Release, options: CallOptions): Promise<void>;
}

export interface LeaseRequest {
  readonly tenantId: string;
  readonly consumerId: string;
  readonly maxItems: number;
  readonly leaseSeconds: number;
  readonly waitSeconds: number;
}

/** A lease as its holder names it. The token is a secret. */
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

/** A leased event, with the members that a dispatcher or a handler has a use for. */
export interface OutboxEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly transactionId: string;
  readonly topic: string;
  readonly key: string;
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** Which delivery this is, the first being 1. */
  readonly deliveryCount: number;
  /** After so many deliveries without an acknowledgement the event becomes a dead letter; `null`: never. */
  readonly maxDeliveryAttempts: number | null;
  /** What the release before this delivery said. */
  readonly lastError: string | null;
}

/**
 * - `lost`: the lease is another's, or over: nothing may be done under it any more.
 * - `transient`: the call may succeed when it is repeated; whether it took effect is unknown.
 * - `refused`: repeating it changes nothing: a fault of the caller or of its configuration.
 */
export type CallFailure = 'lost' | 'transient' | 'refused';

export class OutboxCallError extends Error {
  readonly failure: CallFailure;
  /** How long the service asks to wait, where it said so. */
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
