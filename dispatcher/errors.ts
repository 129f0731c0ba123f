/**
 * A handler throws this to choose when its event is due again.
 * @testonly
 */
export class RetryAfter extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RetryAfter';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The reason for which a handler's signal was aborted. */
export type AbortReason = 'lease_lost' | 'handler_timeout' | 'stopping';

const MESSAGES: Readonly<Record<AbortReason, string>> = {
  lease_lost: 'the lease of the event is lost: another consumer may have it',
  handler_timeout: 'the handler took longer than its timeout',
  stopping: 'the dispatcher stopped before the handler had ended',
};

export class DeliveryAborted extends Error {
  readonly reason: AbortReason;

  constructor(reason: AbortReason) {
    super(MESSAGES[reason]);
    this.name = 'DeliveryAborted';
    this.reason = reason;
  }
}

/** Neither a handler for the event's topic nor a fallback is configured. */
export class NoHandlerError extends Error {
  constructor(topic: string) {
    super(`no handler for the topic ${topic}`);
    this.name = 'NoHandlerError';
  }
}

/** The delay that the error of a delivery asks for; `NaN` if it asks for none, or for one that cannot be read. */
export function askedDelayMs(error: unknown): number {
  try {
    if (error instanceof DeliveryAborted && error.reason === 'stopping') return 0;
    return error instanceof RetryAfter ? error.retryAfterSeconds * 1000 : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

const ERROR_TEXT_LENGTH_MAX = 1000;

/** The error text that the outbox stores: one well-formed text of bounded length without control characters. */
export function errorText(error: unknown): string {
  const message = messageOf(error);
  const shown = message.slice(0, ERROR_TEXT_LENGTH_MAX).replace(/(?![\t\n\r])\p{Cc}/gu, ' ');
  // The cut may have split a surrogate pair. `toWellFormed` is newer than ES2023.
  return shown.replace(/\p{Surrogate}/gu, '\uFFFD').trim() || 'the handler failed without saying why';
}

/** A handler may throw any value: its message may be no string, and reading the message may throw. */
function messageOf(error: unknown): string {
  try {
    const text: unknown = error instanceof Error ? error.message || error.name : error;
    return typeof text === 'string' ? text : String(text);
  } catch {
    return '';
  }
}
