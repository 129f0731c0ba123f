/** A service that answers every request with the same commit result: a caller measures only the round trip. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const now = '2026-01-02T03:04:05.000Z';
const document = {
  tenantId: 'bench',
  documentType: 'claim',
  id: '1',
  schemaVersion: '1',
  data: { status: 'open', note: 'x'.repeat(800) },
  indexes: { status: 'open' },
  revision: 1,
  etag: 'rev:1',
  deleted: false,
  createdAtUtc: now,
  updatedAtUtc: now,
};
const body = JSON.stringify({
  transactionId: 'ctx_1',
  tenantId: 'bench',
  idempotencyKey: 'k',
  correlationId: null,
  actor: null,
  replayed: false,
  committedAtUtc: now,
  documents: [document],
  outbox: [],
});

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
