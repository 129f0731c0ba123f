/** The programs of users in the matrix. Each prints what a right installation prints. */

/** Commits twice, runs a worker for one run and a dispatcher for one event. */
export const javascript = `
import { SvcClient } from '@svc-runtime/client';
import { CanonicalClient } from '@svc-runtime/client/canonical';
import { createWorker } from '@svc-runtime/client/worker';
import { Dispatcher, HttpOutboxClient } from '@svc-runtime/dispatcher';
const baseUrl = process.env.SVC_BASE_URL;
const [tenant] = process.argv.slice(2);
const client = new SvcClient();
const commit = {
  idempotencyKey: 'first',
  mutations: [{ document: { tenantId: tenant, documentType: 'claim', id: '1', schemaVersion: '1', data: { a: 1.5 } } }],
  outbox: [{ topic: 'claim.reported', key: '1', payload: {} }],
};
for (let time = 0; time < 2; time += 1)
  console.log('replayed', (await client.commitCanonicalTransaction(tenant, commit)).replayed);
const { data } = await new CanonicalClient().getCanonicalDocument(tenant, { documentType: 'claim', id: '1' });
console.log('read', data.a);
const run = await client.startExecutionRun({ handlerId: 'matrix.double', payload: 21 });
const worker = createWorker({ client, workerId: tenant, handlers: { 'matrix.double': ({ payload }) => payload * 2 } });
const working = worker.run();
console.log('ran', (await client.waitForExecutionRun(run.id)).result);
await worker.stop();
await working;
await new Promise((resolve) => {
  const dispatcher = new Dispatcher({
    client: new HttpOutboxClient({ baseUrl }),
    tenantId: tenant,
    consumerId: 'matrix',
    handlers: { 'claim.reported': ({ key }) => console.log('delivered', key) },
    onEvent: ({ type }) => { if (type === 'delivered') resolve(dispatcher.stop()); },
  });
  dispatcher.start();
});
`;

export const printedByJavascript = ['replayed false', 'replayed true', 'read 1.5', 'ran 42', 'delivered 1'];

export const required = `
const { SvcClient } = require('@svc-runtime/client');
new SvcClient().health().then(({ status }) => console.log(status));
`;

/** Compiles against every package that has types. */
export const typescript = `
import { ConflictError, SvcClient, type SvcError } from '@svc-runtime/client';
import { createWorker } from '@svc-runtime/client/worker';
import { Dispatcher, HttpOutboxClient, type OutboxEvent } from '@svc-runtime/dispatcher';
import { composeService } from '@svc-runtime/server/compose';
declare const error: SvcError;
const service = await composeService({ settings: { Environment: 'Development' } });
const client = new SvcClient({ baseUrl: 'http://svc', fetch: service.fetch });
export const result = await client.commitCanonicalTransaction('t', {
  idempotencyKey: 'k',
  mutations: [{ document: { tenantId: 't', documentType: 'c', id: '1', schemaVersion: '1', data: { a: 1 } } }],
});
export const code: string | null = error instanceof ConflictError ? error.code : null;
// @ts-expect-error: the key is the caller's to give
void client.commitCanonicalTransaction('t', { mutations: [] });
// @ts-expect-error: a handler is a function
createWorker({ workerId: 'w', handlers: { a: 1 } });
export const dispatcher = new Dispatcher({
  client: new HttpOutboxClient({ baseUrl: 'http://svc' }),
  tenantId: 't',
  consumerId: 'c',
  handlers: { topic: (event: OutboxEvent, { signal }) => signal.throwIfAborted() ?? event.payload },
});
// @ts-expect-error: settings are texts
void composeService({ settings: { 'Server:Port': 0 } });
`;

export const python = `
import sys
from svc_client import Client, VERSION

tenant = sys.argv[1]
document = {"tenantId": tenant, "documentType": "claim", "id": "1", "schemaVersion": "1", "data": {"a": 1.5}}
with Client() as client:
    for _ in range(2):
        result = client.commit_canonical_transaction(
            tenant, {"idempotencyKey": "first", "mutations": [{"document": document}]}  # type: ignore[typeddict-item]
        )
        print("replayed", str(result["replayed"]).lower())
    print(VERSION)
`;

/** Type checkers have to accept all but the marked line, whose mark they would refuse otherwise. */
export const typedPython = `
from svc_client import Client, ConflictError
from svc_client.worker import Worker


def handle(client: Client) -> str | None:
    result = client.commit_canonical_transaction(
        "t",
        {
            "idempotencyKey": "k",
            "mutations": [
                {"document": {"tenantId": "t", "documentType": "c", "id": "1", "schemaVersion": "1", "data": {"a": 1}}}
            ],
        },
    )
    replayed: bool = result["replayed"]
    text: str = result["replayed"]  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    return text if replayed else Worker.__name__


def code(error: ConflictError) -> str | None:
    return error.code
`;
