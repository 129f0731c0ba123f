import { connected } from './answer.ts';
import type { CallTime } from './call-time.ts';
import type { World } from './world.ts';

/**
 * The bytes of an answer, asked for as they are read. However long the whole of it takes, who reads waits for the next of
 * them for `idleMs` at most; the caller's signal ends it as it ends a call.
 */
export function idleBounded(
  operation: string,
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
          // What does not heed the signal is let go of all the same.
          reader.cancel().catch(() => {});
          throw error;
        } finally {
          cancel();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read that nobody asked for, so that no time passes for who does something else.
    { highWaterMark: 0 },
  );
}

/** The answer with this for its body. */
export function withBody(response: Response, body: ReadableStream<Uint8Array> | null): Response {
  const { status, statusText, headers, url } = response;
  if (body === null) return response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}
