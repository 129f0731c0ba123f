import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { vi } from 'vitest';
import { GoogleApis } from '../../cli/doctor/cloud/google.ts';
import { linesOf } from '../../cli/mcp/stdio/lines.ts';
import { processInputs } from '../../cli/remote/inputs.ts';
import { Remote } from '../../cli/remote.ts';
import { readJsonBytes } from '../../cli/snapshot-file.ts';
import { HttpOutboxClient } from '../../dispatcher/http-client.ts';
import { startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { startRouter } from '../../emulator/router.ts';
import { sendToTarget } from '../../emulator/tasks/target-http.ts';
import { startTasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { StorageRequests } from '../../functions/blobs/cloud-storage/requests.ts';
import { machine } from '../../functions/compose/machine.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import { fetchKeyDocument } from '../../functions/identity/oidc/key-fetch.ts';
import { libraryFetch } from '../../functions/kernel/library-fetch.ts';
import { callProvider } from '../../functions/providers/outgoing/call-provider.ts';
import { ModelWorld, TIMEOUT_MS } from '../../functions/providers/outgoing/model-server.fixture.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { deliveryListener } from '../../sdk/typescript/src/worker/index.ts';
import { hurried, startService } from '../support/service.ts';

/** A program part that reads bytes which another program cuts into pieces. */
export type StreamReader = {
  readonly name: string;
  /** The file that gathers the bytes. */
  readonly source: string;
} & (
  | { readonly call: (address: string) => Promise<unknown> }
  | { readonly serve: () => Promise<Served> }
  | { readonly read: (stream: Readable) => Promise<unknown> }
);

interface Served {
  readonly port: number;
  readonly head: readonly string[];
  close(): Promise<unknown>;
}

const MIB = 1024 * 1024;
const json = 'Content-Type: application/json';

function storage(answerBytes?: number) {
  return (endpoint: string) => {
    const { timers, random } = machine;
    const requests = new StorageRequests({ endpoint, credentials: null, http: machine.http, timers, random });
    const more = answerBytes === undefined ? {} : { answerBytes };
    return requests.send({ method: 'GET', path: '/o', answerBytesMax: MIB, ...more });
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function closing(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** The service, which reads the body of the request with this head. */
const serveRequest =
  (...head: readonly string[]) =>
  async (): Promise<Served> => {
    const service = await startService({ world: hurried, settings: { 'Mcp:Enabled': 'true' } });
    const host = await serveNode(service.chain, { host: '127.0.0.1', port: 0, world: hurried, drainMs: 1 });
    return {
      port: host.address.port,
      head,
      async close() {
        await host.stop();
        await service.close();
      },
    };
  };

async function serveDeliveries(): Promise<Served> {
  const worker = { deliver: () => Promise.reject(new Error('not reached')) };
  const listener = deliveryListener(worker, { verify: () => true, bodyBytesMax: MIB });
  const server = createServer((request, response) => void listener(request, response));
  const port = await listening(server);
  const head = ['POST / HTTP/1.1', json, 'X-Svc-Execution-Dispatch: 1'];
  return { port, head, close: () => closing(server) };
}

async function serveTasksAdmin(): Promise<Served> {
  const emulator = await startTasksEmulator({ stopGraceMs: 0 });
  const port = Number(new URL(emulator.adminUrl).port);
  return { port, head: ['PUT /faults HTTP/1.1', json], close: () => emulator.stop() };
}

async function serveIssuer(): Promise<Served> {
  const issuer = await startOidcIssuer();
  const port = Number(new URL(issuer.issuer).port);
  return { port, head: ['POST /token HTTP/1.1', json], close: () => issuer.stop() };
}

async function serveRouter(): Promise<Served> {
  const behind = createServer((request, response) => request.resume().on('end', () => response.end()));
  const router = await startRouter({ host: '127.0.0.1', port: 0 });
  router.open({ bySegment: new Map(), otherwise: await listening(behind) });
  return {
    port: Number(new URL(router.url).port),
    head: ['POST / HTTP/1.1', json],
    async close() {
      await router.stop();
      await closing(behind);
    },
  };
}

/** Every reader; of request bodies one of each kind, since `tiny-pieces.test.ts` tries each route of the service. */
export const streamReaders: readonly StreamReader[] = [
  {
    name: 'the answer of a provider',
    source: 'functions/providers/outgoing/answer.ts',
    call: (url) =>
      callProvider(
        new ModelWorld(['127.0.0.1']),
        { url, headers: new Headers(), body: {}, answerBytesMax: MIB },
        { timeoutMs: TIMEOUT_MS, signal: new AbortController().signal },
      ),
  },
  {
    name: 'the key set of an issuer',
    source: 'functions/identity/oidc/key-fetch.ts',
    call: (url) => fetchKeyDocument({ url, http: machine.http, timers: { after: () => () => undefined } }),
  },
  {
    name: 'an answer of Cloud Storage',
    source: 'functions/blobs/cloud-storage/requests.ts',
    call: storage(),
  },
  {
    name: 'an object from Cloud Storage',
    source: 'functions/blobs/cloud-storage/requests.ts',
    call: storage(64 * 1024),
  },
  {
    name: 'a token for the credentials of Google Cloud',
    source: 'functions/kernel/library-fetch.ts',
    call: async (url) => (await libraryFetch(machine.http)(url)).text(),
  },
  {
    name: 'an answer of a Google API for the doctor',
    source: 'cli/doctor/cloud/google.ts',
    call: (url) =>
      new GoogleApis({
        endpoint: new URL(url),
        http: machine.http,
        timeoutMs: TIMEOUT_MS,
        credentials: () => Promise.resolve(new Headers()),
        log: () => undefined,
      }).get('run.googleapis.com/v2/x'),
  },
  {
    name: 'an answer of a server for the tool',
    source: 'cli/remote.ts',
    async call(url) {
      const remote = new Remote(new URL(url), [], { timeout: 600 });
      return remote.bodyOf(await remote.send({ method: 'GET', path: '/', headers: [], body: null }));
    },
  },
  {
    name: 'an answer of the service for the dispatcher',
    source: 'dispatcher/http-client.ts',
    call: (baseUrl) =>
      new HttpOutboxClient({ baseUrl }).acknowledge(
        { tenantId: 't', eventId: 'e', leaseToken: 'l' },
        { signal: new AbortController().signal },
      ),
  },
  {
    name: 'an answer of the service for the TypeScript client',
    source: 'sdk/typescript/src/bounded.ts',
    call: async (baseUrl) => new SvcClient({ baseUrl, maxRetries: 0 }).health(),
  },
  {
    name: 'a delivery to a worker in TypeScript',
    source: 'sdk/typescript/src/worker/delivery-answer.ts',
    serve: serveDeliveries,
  },
  {
    name: 'fault switches of the Cloud Tasks emulator',
    source: 'emulator/drained-body.ts',
    serve: serveTasksAdmin,
  },
  { name: 'a token request of the local issuer', source: 'emulator/drained-body.ts', serve: serveIssuer },
  { name: 'a request through the local router', source: 'emulator/router.ts', serve: serveRouter },
  {
    name: 'the answer of a target to the Cloud Tasks emulator',
    source: 'emulator/tasks/target-http.ts',
    call: (url) =>
      sendToTarget({ url, method: 'POST', headers: {}, body: null, signal: new AbortController().signal }),
  },
  {
    name: 'a snapshot on standard input',
    source: 'cli/snapshot-file.ts',
    read: (stream) => readJsonBytes('-', stream, MIB),
  },
  {
    name: 'messages of a desktop program on standard input',
    source: 'cli/mcp/stdio/lines.ts',
    async read(stream) {
      let last: unknown;
      for await (const line of linesOf(stream, MIB)) last = line;
      return last;
    },
  },
  {
    name: 'a request body on standard input',
    source: 'cli/remote/inputs.ts',
    async read(stream) {
      const input = vi.spyOn(process, 'stdin', 'get').mockReturnValue(stream as never);
      const reading = processInputs().read('-', MIB);
      input.mockRestore();
      return reading;
    },
  },
  // The service comes last: it makes each later garbage collection slower.
  {
    name: 'a request of the MCP endpoint',
    source: 'functions/http/body.ts',
    serve: serveRequest('POST /mcp HTTP/1.1', json, 'Accept: application/json, text/event-stream'),
  },
  {
    name: 'a restore of a tenant',
    source: 'functions/http/paced-chunks.ts',
    serve: serveRequest('POST /canonical/tenants/t/restore HTTP/1.1', json),
  },
  {
    name: 'an import of a collection',
    source: 'functions/http/counted-pieces.ts',
    serve: serveRequest('POST /collections/c/import HTTP/1.1', json, 'Idempotency-Key: k'),
  },
  {
    name: 'an import of a graph',
    source: 'functions/http/counted-pieces.ts',
    serve: serveRequest('POST /collections/c/graph/import HTTP/1.1', json, 'Idempotency-Key: k'),
  },
  {
    name: 'an object',
    source: 'functions/http/byte-body.ts',
    serve: serveRequest('PUT /objects/files/k HTTP/1.1', 'Content-Type: application/octet-stream'),
  },
  {
    name: 'a form with an artifact',
    source: 'functions/http/multipart.ts',
    serve: serveRequest(
      'POST /ingest/record-artifact HTTP/1.1',
      'Content-Type: multipart/form-data; boundary=b',
      'Idempotency-Key: k',
    ),
  },
];

/** Files that gather a stream and are tested elsewhere. */
export const testedElsewhere: Readonly<Record<string, string>> = {
  'functions/http/message.ts': 'names the type alone',
  'functions/http/small-body.ts': 'a request with a JSON body, and the others with small bodies, read by it',
  'functions/kernel/byte-blocks.ts': 'the gathering itself: byte-blocks.test.ts',
  'functions/http/body-reader.ts': 'takes what functions/http/body.ts has gathered',
  'functions/http/paced-chunks.ts': 'request bodies: tiny-pieces.test.ts',
  'functions/http/multipart.ts': 'request bodies: tiny-pieces.test.ts',
  'functions/http/counted-pieces.ts': 'request bodies: tiny-pieces.test.ts',
  'functions/http/send.ts': 'bodies that are dropped: tiny-pieces.test.ts',
  'functions/runs/copies/read-archive.ts': 'lines of an archive, each checked before its bytes are kept',
  'functions/http/host-inject.ts': 'answers that this process itself makes',
  'functions/groups/canonical/copies/snapshot-text.ts': 'a snapshot that this process itself writes',
  'sdk/typescript/src/gathered.ts': 'the gathering itself',
  'sdk/typescript/src/worker/web.ts': 'hands each piece to delivery-answer.ts, on demand',
  'sdk/typescript/src/idle.ts': 'hands each piece to the caller, on demand',
  'sdk/typescript/src/multipart.ts': 'sends each piece of the caller, on demand',
};
