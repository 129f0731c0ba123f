import type { CallTime } from './call-time.ts';
import { connected } from './connected.ts';
import type { OperationName } from './operation.ts';
import type { World } from './world.ts';

/**
 * The body of an answer as a stream. `idleMs` bounds the wait for the next bytes, not the whole body. The caller's signal
 * ends the stream as it ends a call.
 */
export function idleBounded(
  operation: OperationName,
  body: ReadableStream<Uint8Array>,
  { time, world, idleMs }: { readonly time: CallTime; readonly world: World; readonly idleMs: number },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const cancel = world.after(idleMs, () => time.end());
        try {
          const { done, value } = await time.bound(connected(operation, () => reader.read()));
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          // The body may ignore the signal, so release its connection here.
          reader.cancel().catch(() => {});
          throw error;
        } finally {
          cancel();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Read only on demand: the idle time must not run while the caller does other work.
    { highWaterMark: 0 },
  );
}

/** A copy of the answer with another body. */
export function withBody(response: Response, body: ReadableStream<Uint8Array> | null): Response {
  const { status, statusText, headers, url } = response;
  if (body === null) return response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}
