import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { expectProblem, RawConnection, request } from '../wire/fixture/raw-client.ts';
import { requestOf } from './requests.ts';
import { allEntries, freshTenant, routesOf } from './target.ts';

const BYTES = 20_000;
const oneByteChunks = '1\r\nx\r\n'.repeat(BYTES);

let service: RunningService;
let host: NodeHost;
beforeAll(async () => {
  service = await startService({ world: hurried });
  host = await serveNode(service.chain, { host: '127.0.0.1', port: 0, world: hurried, drainMs: 1 });
});
afterAll(async () => {
  await host.stop();
  await service.close();
});

const routes = routesOf(allEntries).filter(({ route }) => route.method !== 'GET');

test.each(routes)(
  '$name: a body without an end, each byte a chunk, is given up',
  async ({ entry, route }) => {
    const tenantId = freshTenant();
    const params = Object.fromEntries(
      route.path.map(({ name }) => [name, name === 'tenantId' ? tenantId : name]),
    );
    const { method, path } = requestOf({ entry, route }, { params, query: [], headers: [], body: undefined });
    const type =
      entry.requestMediaType === 'multipart/form-data'
        ? 'multipart/form-data; boundary=b'
        : entry.requestMediaType;
    const headers = [`Content-Type: ${type ?? 'application/json'}`, 'Transfer-Encoding: chunked'];
    const connection = await RawConnection.open(host.address.port);
    connection.write(`${request(method, path, headers)}${oneByteChunks}`);
    const answer = await connection.answer();
    expect(answer.status, answer.body).toBeGreaterThanOrEqual(400);
    expect(answer.status, answer.body).toBeLessThan(500);
    expect(answer.status, answer.body).not.toBe(408);
    if (answer.status === 400) expectProblem(answer, 400, 'malformed_request');
    await connection.closed();
    connection.destroy();
  },
);
