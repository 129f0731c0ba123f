import { setTimeout as sleep } from 'node:timers/promises';
import { callBytes } from '../support/byte-calls.ts';
import { watchMemory } from './copies-memory.ts';
import { BenchServer } from './server.ts';

const OBJECT_BYTES = 16 * 1024 * 1024;
const SECOND_MS = 1_000;

/**
 * Memory of a server process over SQLite while objects of 16 MiB go in, and then out, all at once. One caller is one space, which may hold
 * half of `Objects:BytesInFlightMax`; calls beyond that are refused for now, and are sent again after `Retry-After`.
 */
export async function benchObjectsMemory(objects: number): Promise<object> {
  const server = await BenchServer.start();
  const { pid } = server;
  if (pid === undefined) throw new Error('the server has no process');
  const all = Array.from({ length: objects }, (_, at) => at);
  const content = Buffer.alloc(OBJECT_BYTES, 'abcdefghij');
  const measured = async (body: Buffer | null) => {
    let refused = 0;
    const memory = watchMemory(pid);
    const began = performance.now();
    await Promise.all(
      all.map(async (at) => {
        for (;;) {
          const answer = await callBytes(`${server.address}/objects/bench/${at}`, body);
          if (answer.status === 200) return;
          if (answer.status !== 503) throw new Error(`${answer.status} ${answer.content.toString()}`);
          refused += 1;
          await sleep(Number(answer.retryAfter) * SECOND_MS);
        }
      }),
    );
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    return { ...memory.stop(), refused, elapsedSeconds: seconds };
  };
  try {
    const idle = watchMemory(pid).stop();
    const into = await measured(content);
    const out = await measured(null);
    return { bench: 'objects-memory', objects, objectMb: OBJECT_BYTES / 1e6, idle, into, out };
  } finally {
    await server.stop();
  }
}
