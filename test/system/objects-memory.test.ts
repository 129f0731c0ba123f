import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { callBytes } from '../support/byte-calls.ts';
import { CloudStorageServer } from '../support/cloud-storage.ts';
import { CALLERS } from '../support/objects-service.ts';
import type { MemoryPeak, ObjectsProcessOptions } from './objects-process.ts';

const MEBIBYTE = 1024 * 1024;
const OBJECT_BYTES = 8 * MEBIBYTE;
/** All calls have room at once, so that each of their bytes is counted while it is held. */
const [ADA, BOB] = CALLERS;
const OWNERS = [ADA, ADA, BOB, BOB];
const IN_FLIGHT_MAX = OWNERS.length * OBJECT_BYTES;
/** Room for the other memory of calls, such as bytes in the buffers of sockets. */
const FACTOR = 1.5;

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(options: ObjectsProcessOptions): Promise<{ child: ChildProcess; url: string }> {
  const program = join(import.meta.dirname, 'objects-process.ts');
  const child = fork(program, [JSON.stringify(options)], { execArgv: ['--expose-gc'] });
  closing.push(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}

/** The most that the process has held since it was asked before. */
async function peakOf(child: ChildProcess): Promise<MemoryPeak> {
  const answer = once(child, 'message');
  child.send('peak');
  const [peak] = (await answer) as [MemoryPeak];
  return peak;
}

async function atOnce(url: string, body: Buffer | null): Promise<void> {
  const calls = OWNERS.map(async (principal = '', at) => {
    const answer = await callBytes(`${url}/objects/files/${at}`, body, { 'X-Principal': principal });
    expect([answer.status, (body ?? answer.content).length]).toEqual([200, OBJECT_BYTES]);
  });
  await Promise.all(calls);
}

test.each(['files', 'a bucket'])(
  'a process holds the bytes in flight once, and little more, with %s',
  async (where) => {
    let place: ObjectsProcessOptions['place'] = 'files';
    if (where === 'a bucket') {
      const server = await CloudStorageServer.start('bucket');
      closing.push(() => server[Symbol.asyncDispose]());
      place = { bucket: 'bucket', endpoint: server.endpoint };
    }
    const folder = mkdtempSync(join(tmpdir(), 'svc-objects-memory-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const own = { folder, place, bytesInFlightMax: IN_FLIGHT_MAX, objectBytesMax: 2 * OBJECT_BYTES };
    const { child, url } = await start(own);
    for (const body of [Buffer.alloc(OBJECT_BYTES, 'content '), null]) {
      let seen = 0;
      // The calls are made again where they did not overlap.
      while (seen <= IN_FLIGHT_MAX / 2) {
        await atOnce(url, body);
        const { live } = await peakOf(child);
        expect(live).toBeLessThan(IN_FLIGHT_MAX * FACTOR);
        seen = Math.max(seen, live);
      }
    }
  },
);
