import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { medianNumber, round } from './load.ts';
import { BenchServer } from './server.ts';
import { TENANT } from './workload.ts';

/**
 * The cost of hostile HTTP callers to other callers: the usual and the longest time that `/health` takes while each attack runs,
 * and the most memory that the process has taken. Every attack has a server of its own and is bounded in count and time.
 */

const PIPELINED = 15_000;
const CONTAINERS_BODY_BYTES = 31 * 1024 * 1024;
const RESTORE_CONTAINERS = 10_000_000;
const DOCUMENT_CONTAINERS = 290_000;
const UNREAD_ANSWERS = 70;
const DOCUMENTS = 18;
const DOCUMENT_BYTES = 880_000;
const TINY_CHUNKS = '1\r\nx\r\n'.repeat(10_000);
const ATTACK_MS = 8_000;

export async function benchHostileHttp(names: readonly string[] = Object.keys(attacks)): Promise<object> {
  const found: Record<string, object> = {};
  for (const name of names) {
    const attack = attacks[name];
    if (attack !== undefined) found[name] = await measured(...attack);
  }
  return { bench: 'hostile-http', ...found };
}

type Attack = (port: number) => Promise<Socket[]>;

async function measured(attack: Attack, prepare: (server: BenchServer) => Promise<void> = async () => {}) {
  const server = await BenchServer.start();
  try {
    await prepare(server);
    const idleMiB = peakMiB(server);
    const port = Number(new URL(server.address).port);
    const endsAt = performance.now() + ATTACK_MS;
    const sockets = await attack(port);
    const times: number[] = [];
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      await (await fetch(`${server.address}/health`)).text();
      times.push(performance.now() - startedAt);
    }
    for (const socket of sockets) socket.destroy();
    const healthMs = { median: medianNumber(times.map(round)), slowest: Math.round(Math.max(...times)) };
    return { healthMs, peakMiB: peakMiB(server), idleMiB };
  } finally {
    await server.stop();
  }
}

function peakMiB({ pid }: BenchServer): number {
  const [, kiB = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kiB) / 1024);
}

const pipelined: Attack = async (port) => {
  const socket = await opened(port);
  socket.resume();
  socket.write('GET /openapi/svc.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(PIPELINED));
  return [socket];
};

const containersBody: Attack = async (port) => {
  const head = '{"runId":"r","name":"n","leaseToken":"t","workerId":"w","content":[[]';
  const fill = ',[]'.repeat((CONTAINERS_BODY_BYTES - head.length - 2) / 3);
  const socket = await opened(port);
  socket.resume();
  socket.write(post('/execution/workers/leases/artifacts', `${head}${fill}]}`));
  return [socket];
};

const unreadAnswers: Attack = (port) =>
  Promise.all(
    Array.from({ length: UNREAD_ANSWERS }, async () => {
      const socket = await opened(port);
      socket.write(
        post(`/canonical/tenants/${TENANT}/documents/query`, '{"documentType":"large","limit":100}'),
      );
      return socket;
    }),
  );

/** A small body with very many values takes the most memory for its size. */
const restoreGarbage: Attack = (port) => restoring(port, `[[]${',[]'.repeat(RESTORE_CONTAINERS)}]`);

/** A body in the shape of a snapshot, each document as large as it may be. */
const restoreDocuments: Attack = (port) => {
  const named = `"tenantId":"${TENANT}","documentType":"t","schemaVersion":"1","indexes":{},"revision":1`;
  const moments = '"createdAtUtc":"2026-01-01T00:00:00.000Z","updatedAtUtc":"2026-01-01T00:00:00.000Z"';
  const data = `{"a":[[]${',[]'.repeat(DOCUMENT_CONTAINERS - 2)}]}`;
  const documents = Array.from(
    { length: RESTORE_CONTAINERS / DOCUMENT_CONTAINERS },
    (_, n) => `{"id":"d${n}",${named},"etag":"rev:1","deleted":false,${moments},"data":${data}}`,
  );
  const lists = '"revisions":[],"fences":[],"outbox":[],"transactions":[]';
  const head = `"tenantId":"${TENANT}",${lists},"exportedAtUtc":"2026-01-01T00:00:00.000Z"`;
  const contentHash = `sha256:${'0'.repeat(64)}`;
  return restoring(port, `{${head},"contentHash":"${contentHash}","documents":[${documents.join(',')}]}`);
};

async function restoring(port: number, snapshot: string): Promise<Socket[]> {
  const socket = await opened(port);
  socket.on('data', (answer) => {
    if (process.env['BENCH_VERBOSE'] !== undefined)
      process.stderr.write(`${answer.toString().slice(0, 900)}\n`);
  });
  socket.write(post(`/canonical/tenants/${TENANT}/restore`, `{"snapshot":${snapshot}}`));
  return [socket];
}

/** Bodies whose every byte is a chunk of its own, one after the other over each connection. */
const tinyChunks: Attack = async (port) => {
  const sockets: Socket[] = [];
  const endsAt = performance.now() + ATTACK_MS;
  const send = (path: string): void => {
    if (performance.now() >= endsAt) return;
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    const more = (): void => {
      while (socket.writable && socket.write(TINY_CHUNKS));
    };
    socket.resume().once('connect', () => {
      socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`);
      socket.write('Transfer-Encoding: chunked\r\n\r\n1\r\n"\r\n');
      more();
    });
    socket.on('drain', more).on('error', () => {});
    socket.once('close', () => send(path));
  };
  for (const path of ['/mcp', '/execution/runs', `/canonical/tenants/${TENANT}/restore`, '/health'])
    send(path);
  return sockets;
};

const attacks: Readonly<Record<string, readonly [Attack, ((server: BenchServer) => Promise<void>)?]>> = {
  pipelinedContract: [pipelined],
  containersBody: [containersBody],
  tinyChunks: [tinyChunks],
  restoreGarbage: [restoreGarbage],
  restoreDocuments: [restoreDocuments],
  unreadAnswers: [unreadAnswers, preload],
};

async function preload(server: BenchServer): Promise<void> {
  for (let at = 0; at < DOCUMENTS; at += 3) {
    const mutations = [0, 1, 2].map((n) => ({
      operation: 'upsert',
      document: {
        tenantId: TENANT,
        documentType: 'large',
        id: `d-${at + n}`,
        schemaVersion: '1',
        data: { text: 'x'.repeat(DOCUMENT_BYTES) },
      },
    }));
    await server.post('/transactions', { idempotencyKey: `large-${at}`, mutations });
  }
}

function post(path: string, body: string): string {
  const fields = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n${body}`;
}

/** A socket whose client reads nothing until the test resumes it. */
function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
    socket.on('error', () => {});
  });
}
