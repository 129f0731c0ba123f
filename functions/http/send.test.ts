import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createByteAllowance } from './byte-allowance.ts';
import { heldBlocks, sliceBytes } from './message.ts';
import { discardPolicy, send } from './send.ts';

/** A response whose system accepts all bytes at once. */
function eagerResponse(write: (bytes: number) => void): ServerResponse {
  const response = new PassThrough({ highWaterMark: 1024 * sliceBytes });
  response.resume();
  return Object.assign(response, {
    writeHead: () => response,
    write(chunk: Uint8Array) {
      write(chunk.length);
      return true;
    },
  }) as unknown as ServerResponse;
}

test('a large answer gives other work its turns, also with a fast client', async () => {
  const request = { method: 'GET', complete: true, rawHeaders: [], headers: {}, socket: {} };
  let turns = 0;
  let ended = false;
  const byTurn = new Map<number, number>();
  const response = eagerResponse((bytes) => byTurn.set(turns, (byTurn.get(turns) ?? 0) + bytes));
  const count = (): void => {
    turns += 1;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  const body = heldBlocks([new Uint8Array(40 * sliceBytes), new Uint8Array(100)]);
  await send(
    request as unknown as IncomingMessage,
    response,
    { status: 200, headers: [], body, close: false },
    {
      timers: { after: () => () => {} },
      discarded: createByteAllowance(discardPolicy, { now: () => 0 }),
      proceeded: false,
      isGivenUp: false,
      signal: new AbortController().signal,
    },
  );
  ended = true;
  expect([...byTurn.values()].reduce((sum, bytes) => sum + bytes)).toBe(40 * sliceBytes + 100);
  expect(Math.max(...byTurn.values())).toBeLessThanOrEqual(4 * sliceBytes + 100);
});
