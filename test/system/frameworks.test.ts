import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Peer } from '../bench/install-peer.ts';
import { DELIVERED, SHOWN, Workshop } from './frameworks.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await Workshop.open();
});
afterAll(() => workshop[Symbol.asyncDispose]());

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

const files = new Map([
  ['route.mjs', serving("import { POST as deliver } from './route.ts';")],
  ['server.mjs', serving("import platform from './server.ts'; const deliver = platform.fetch;")],
]);

interface Framework {
  readonly peers: readonly Peer[];
  /** The recipe that is started, or a program that serves it. */
  readonly program: string;
}

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

test.for(Object.entries(frameworks))(
  '%s delivers runs and refuses all else',
  async ([name, { peers, program }], { skip }) => {
    const made = await workshop.furnished(name, peers, files);
    if ('why' in made) {
      skip(made.why);
      return;
    }
    await using running = workshop.program(made.place, [program]);
    const [address] = await running.says(/http:\/\/\S+/);
    expect(await workshop.pushedTo(address)).toEqual(DELIVERED);
    expect(await workshop.tried(made.place, address)).toEqual(SHOWN);
  },
);
