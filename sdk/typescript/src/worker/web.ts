import { answerDelivery, DISPATCH_HEADER, settleDelivery } from './delivery-answer.ts';
import type { SvcWorker } from './svc-worker.ts';

export interface DeliveryHandlerOptions {
  /**
   * Verifies the caller: only `true` admits a delivery. For Cloud Tasks verify the identity token of `Authorization`: its
   * signature, its audience, and that its e-mail is that of the queue's service account.
   */
  readonly verify: (request: Request) => boolean | Promise<boolean>;
  /** The largest message in bytes; 65,536 if absent. */
  readonly bodyBytesMax?: number | undefined;
  /** `Retry-After` for the queue if the worker is full or stops; 10 if absent. */
  readonly retryAfterSeconds?: number | undefined;
}

export type DeliveryHandler = (request: Request) => Promise<Response>;

/**
 * A handler of web requests for a queue that pushes runs: for Hono, Next.js, Bun, Deno and others that call a function with a
 * `Request`. It answers and refuses as `deliveryListener` of `@svc-runtime/client/worker` does.
 */
export function deliveryHandler(
  worker: Pick<SvcWorker, 'deliver'>,
  options: DeliveryHandlerOptions,
): DeliveryHandler {
  const { verify, ...limits } = settleDelivery(options, 'deliveryHandler');
  return async (request) => {
    const delivery = {
      method: request.method,
      dispatch: request.headers.get(DISPATCH_HEADER),
      verify: () => verify(request),
      isRead: () => request.bodyUsed || request.body?.locked === true,
      pieces: () => piecesOf(request),
    };
    const { status, headers, text } = await answerDelivery(worker, delivery, limits);
    return new Response(text, { status, headers: { ...headers } });
  };
}

/** The rest of the body is cancelled when the caller stops early, and when the signal of the request is aborted. */
async function* piecesOf({ body, signal }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  // A stream may ignore the signal, and a cancelled one ends like a whole one: so check the signal after each read.
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}
