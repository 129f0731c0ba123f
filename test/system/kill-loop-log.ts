import type {
  CanonicalOutboxEvent,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';

/** The requests and answers of a tenant's clients, in the order in which the clients saw them. */

/** A commit that was sent at least once. */
export interface Attempt {
  readonly key: string;
  readonly body: CanonicalTransactionRequest;
  /** `open`: no answer ever came. */
  fate: 'open' | 'acknowledged' | 'refused';
  /** A client waits for an answer. */
  underWay: boolean;
  /** The first answer, and its place in the order of things. */
  result?: CanonicalTransactionResult;
  acknowledgedAt: number;
}

/** A token that a consumer was given. */
export interface Hold {
  readonly eventId: string;
  readonly token: string;
  /** Which delivery of the event this is. */
  readonly count: number;
  /** When the answer came, by the clock of the machine, which the server reads as well. */
  readonly at: number;
  /** The place of that answer in the order of things. */
  readonly step: number;
  expiresAt: number;
}

/** A call with a token: its outcome is `unknown` where the kill left it without an answer. */
export interface TokenCall {
  readonly kind: 'ack' | 'release' | 'renew';
  readonly hold: Hold;
  readonly sentAt: number;
  readonly sentStep: number;
  outcome: 'accepted' | 'refused' | 'unknown';
}

export class TenantLog {
  readonly tenantId: string;
  readonly attempts = new Map<string, Attempt>();
  readonly holds: Hold[] = [];
  readonly calls: TokenCall[] = [];
  /** The latest revisions that a client was answered. */
  readonly revisions = new Map<string, number>();
  #step = 0;

  constructor(tenantId: string) {
    this.tenantId = tenantId;
  }

  get step(): number {
    return this.#step;
  }

  /** Before the first sending; a key that was sent before keeps its attempt. */
  sent(body: CanonicalTransactionRequest): Attempt {
    const key = body.idempotencyKey;
    const before = this.attempts.get(key);
    if (before !== undefined) return before;
    const acknowledgedAt = Number.POSITIVE_INFINITY;
    const attempt: Attempt = { key, body, fate: 'open', underWay: false, acknowledgedAt };
    this.attempts.set(key, attempt);
    return attempt;
  }

  acknowledged(attempt: Attempt, result: CanonicalTransactionResult): void {
    attempt.fate = 'acknowledged';
    attempt.result ??= { ...result, replayed: false };
    attempt.acknowledgedAt = Math.min(attempt.acknowledgedAt, ++this.#step);
    for (const { documentType, id, revision } of result.documents) {
      const name = `${documentType}/${id}`;
      this.revisions.set(name, Math.max(revision, this.revisions.get(name) ?? 0));
    }
  }

  leased(event: CanonicalOutboxEvent, token: string, expiresAtUtc: string): Hold {
    const hold = {
      eventId: event.id,
      token,
      count: event.deliveryCount,
      at: Date.now(),
      step: ++this.#step,
      expiresAt: Date.parse(expiresAtUtc),
    };
    this.holds.push(hold);
    return hold;
  }

  /** Before a call with a token is sent. */
  calling(kind: TokenCall['kind'], hold: Hold): TokenCall {
    const call: TokenCall = { kind, hold, sentAt: Date.now(), sentStep: this.#step, outcome: 'unknown' };
    this.calls.push(call);
    return call;
  }
}
