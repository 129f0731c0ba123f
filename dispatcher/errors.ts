/** Thrown by a handler that knows when a next try has a chance: the event is due again after so many seconds. */
export class RetryAfter extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RetryAfter';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Why a handler's signal was aborted. */
export type AbortReason = 'lease_lost' | 'handler_timeout' | 'stopping';

const MESSAGES: Readonly<Record<AbortReason, string>> = {
  lease_lost: 'the lease of the event is lost: another consumer may have it',
  handler_timeout: 'the handler took longer than it may',
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

/** An event's topic has no handler, and there is no handler for the rest. */
export class NoHandlerError extends Error {
  constructor(topic: string) {
    super(`no handler for the topic ${topic}`);
    this.name = 'NoHandlerError';
  }
}

const ERROR_TEXT_LENGTH_MAX = 1000;

/** What the outbox keeps of an error: its message as one text of a bounded length, without what no text may hold. */
export function errorText(error: unknown): string {
  const message = messageOf(error);
  const shown = message.slice(0, ERROR_TEXT_LENGTH_MAX).replace(/(?![\t\n\r])\p{Cc}/gu, ' ');
  // The cut may have gone through a character.
  return shown.toWellFormed().trim() || 'the handler failed without saying why';
}

/** Whatever was thrown: it may be no error, its message no text, and reading it may throw in turn. */
function messageOf(error: unknown): string {
  try {
    const said: unknown = error instanceof Error ? error.message || error.name : error;
    return typeof said === 'string' ? said : String(said);
  } catch {
    return '';
  }
}
