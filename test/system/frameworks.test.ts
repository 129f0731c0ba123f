import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { installPeer, type Peer } from '../bench/install-peer.ts';
import { furnish, Reader } from './guides.ts';
import { Program, root } from './program.ts';

/** The recipes of docs/delivery.md, run with the real frameworks. The lock file names none of them: they are installed here. */

const HANDLER = 'mail.send';
const QUEUE = 'Bearer token-of-the-queue';

interface Framework {
  readonly peers: readonly Peer[];
  /** The recipe that is started, or a program that serves it. */
  readonly program: string;
}

/** Serves a function of web requests by `node:http`, as a platform does. */
const serving = (what: string) => `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
${what}
const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  const body = method === 'GET' ? null : Readable.toWeb(request);
  const answer = await deliver(new Request('http://x' + url, { method, headers, body, duplex: 'half' }));
  response.writeHead(answer.status).end(await answer.text());
});
server.listen(0, () => console.log('http://127.0.0.1:' + server.address().port));
`;

const frameworks: Readonly<Record<string, Framework>> = {
  Hono: {
    peers: [
      { name: 'hono', version: '4.13.19' },
      { name: '@hono/node-server', version: '2.1.9' },
    ],
    program: 'hono.ts',
  },
  Fastify: { peers: [{ name: 'fastify', version: '5.12.8' }], program: 'fastify.ts' },
  'a route handler of Next.js': { peers: [], program: 'route.mjs' },
  'the default export for Bun and Deno': { peers: [], program: 'server.mjs' },
};

const page = await readFile(join(root, 'docs/delivery.md'), 'utf8');
const recipes = new Map(
  [...page.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(
    ([, file = '', text = '']) => [file, text] as const,
  ),
);
const files = new Map([
  ...recipes,
  ['route.mjs', serving("import { POST as deliver } from './route.ts';")],
  ['server.mjs', serving("import platform from './server.ts'; const deliver = platform.fetch;")],
]);

const folder = await mkdtemp(join(tmpdir(), 'svc-frameworks-'));
let reader: Reader;
beforeAll(async () => {
  reader = await Reader.start([`--ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`]);
});
afterAll(async () => {
  await reader[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The folder of a program that uses the framework; else why the framework cannot be installed. */
async function programOf(name: string, peers: readonly Peer[]): Promise<{ place: string } | { why: string }> {
  const installed = join(folder, name.replaceAll(' ', '-'));
  const why = peers.length === 0 ? null : await installPeer(installed, ...peers);
  if (why !== null) return { why };
  const place = join(installed, 'app');
  await furnish(place);
  for (const [file, text] of files) await writeFile(join(place, file), text);
  return { place };
}

/** What a queue sends: a run, unverified, then requests that are no delivery, then the run. */
async function outcomesAt(address: string): Promise<readonly unknown[]> {
  const client = new SvcClient({ baseUrl: reader.address });
  const run = await client.startExecutionRun({ handlerId: HANDLER, payload: 'kim' });
  const its = { 'content-type': 'application/json', 'x-svc-execution-dispatch': '1' };
  const send = async (body: string, headers: object): Promise<unknown> => {
    const answer = await fetch(`${address}/tasks/execution`, {
      method: 'POST',
      body,
      headers: { ...its, ...headers },
    });
    return [answer.status, (await answer.text()).trim()];
  };
  const message = JSON.stringify({ runId: run.id, reason: 'run_ready' });
  const answers = [
    await send(message, {}),
    await send(message, { authorization: QUEUE, 'x-svc-execution-dispatch': '2' }),
    await send('{', { authorization: QUEUE }),
    await send(JSON.stringify('x'.repeat(20_000)), { authorization: QUEUE }),
    await send(message, { authorization: QUEUE }),
    await send(message, { authorization: QUEUE }),
  ];
  return [...answers, (await client.getExecutionRun(run.id)).result];
}

test.for(Object.entries(frameworks))(
  '%s delivers runs and refuses all else',
  async ([name, { peers, program }], { skip }) => {
    const made = await programOf(name, peers);
    if ('why' in made) {
      if (process.env['CI'] !== 'true') skip(`not installed: ${made.why}`);
      throw new Error(made.why);
    }
    await using running = new Program([program], {
      cwd: made.place,
      env: { PORT: '0', SVC_BASE_URL: reader.address, QUEUE_TOKEN: QUEUE.replace('Bearer ', '') },
    });
    const [address] = await running.says(/http:\/\/\S+/);
    expect(await outcomesAt(address)).toEqual([
      [401, 'The caller is not verified.'],
      [400, 'The header X-Svc-Execution-Dispatch must be 1.'],
      [400, 'The body names no run.'],
      [413, 'The body is larger than 16384 bytes.'],
      [204, ''],
      [204, ''],
      { sent: 'kim' },
    ]);
  },
);
