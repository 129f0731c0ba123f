import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerDelivery, DISPATCH_HEADER, settleDelivery } from './delivery-answer.ts';
import type { SvcWorker } from './svc-worker.ts';

export interface DeliveryOptions {
  /**
   * Verifies the caller: only `true` admits a delivery. For Cloud Tasks verify the identity token of `Authorization`: its
   * signature, its audience, and that its e-mail is that of the queue's service account.
   */
  readonly verify: (request: IncomingMessage) => boolean | Promise<boolean>;
  /** The largest message in bytes; 65,536 if absent. */
  readonly bodyBytesMax?: number | undefined;
  /** `Retry-After` for the queue if the worker is full or stops; 10 if absent. */
  readonly retryAfterSeconds?: number | undefined;
}

export type DeliveryListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * A listener of `node:http` for a queue that pushes runs, such as Cloud Tasks. A message causes at most one lease. It answers
 * 204 if the run was executed, is parked, or could not be leased; every other status makes the queue deliver again.
 */
export function deliveryListener(
  worker: Pick<SvcWorker, 'deliver'>,
  options: DeliveryOptions,
): DeliveryListener {
  const { verify, ...limits } = settleDelivery(options, 'deliveryListener');
  return async (request, response) => {
    const delivery = {
      method: request.method,
      dispatch: request.headers[DISPATCH_HEADER],
      verify: () => verify(request),
      isRead: () => request.readableDidRead || request.readableEnded,
      // Keep the request open after an early return, so that it can be answered.
      pieces: () => request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
    };
    const { status, headers, text } = await answerDelivery(worker, delivery, limits);
    // Close the connection: the rest of the request is unread.
    if (!request.complete) response.setHeader('connection', 'close');
    response.writeHead(status, headers).end(text ?? undefined);
  };
}
