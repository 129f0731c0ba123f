import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BareJobs } from './execution-bare.ts';

/** The worker protocol over the bare job table, by `node:http` and `JSON` alone: nothing is checked. */
const jobs = new BareJobs(process.argv[2] ?? '', true);

interface Body {
  readonly payload?: unknown;
  readonly id?: number;
  readonly token?: string;
  readonly result?: unknown;
}

async function answer(path: string, { payload, id = 0, token = '', result }: Body): Promise<object> {
  if (path === '/start') return { id: await jobs.start(JSON.stringify(payload)) };
  if (path === '/complete') {
    await jobs.complete(id, token, JSON.stringify(result));
    return { id, status: 'succeeded' };
  }
  const drawn = randomBytes(32).toString('hex');
  const job = await jobs.lease(drawn);
  return job === undefined ? {} : { ...job, payload: JSON.parse(job.payload) as object, token: drawn };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    void answer(request.url ?? '', JSON.parse(Buffer.concat(chunks).toString()) as Body).then((body) => {
      const text = JSON.stringify(body);
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      });
      response.end(text);
    });
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('SIGTERM', () => process.exit(0));
