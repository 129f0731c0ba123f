/**
 * A load of another tenant in a process of its own: `neighbour-kinds-child.ts KIND DIMENSIONS`. It tells its parent the port of its
 * model; it begins when the parent names the address of a server, and answers `stop` with its counts.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const [kind = '', dimensions = '0'] = process.argv.slice(2);

/** As many as an answer of 9 MB has room for. */
const TEXTS = 48;
const WAITERS = 1_000;
const WAITERS_OF_AN_ADDRESS = 25;
/** As workers do that are answered at once, because too many wait. */
const IDLE_MS = 1_000;

/** Vectors with long numbers, and the worst JSON of the same size. Good ones between keep the model in use. */
function answers(): readonly Buffer[] {
  const number = `0.${'123456789'.repeat(4)}`;
  const vector = `[${Array(Number(dimensions)).fill(number).join()}]`;
  const data = Array.from({ length: TEXTS }, (_, index) => `{"index":${index},"embedding":${vector}}`);
  const good = `{"data":[${data.join()}],"usage":{"prompt_tokens":9}}`;
  const room = good.length - 100;
  const bad = [
    '['.repeat(room),
    `{"data":[${'[],'.repeat(room / 3)}[]]}`,
    `{"data":[[${'1,'.repeat(room / 2)}1]]}`,
  ];
  return bad.flatMap((each) => [good, each]).map((text) => Buffer.from(text));
}

async function serveModel(): Promise<number> {
  const bodies = answers();
  let count = 0;
  const server = createServer((incoming, response) => {
    incoming.resume().once('end', () => {
      const body = bodies[count % bodies.length];
      count += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const counts = new Map<string, number>();
let over = new AbortController();
const calls = new Set<ReturnType<typeof request>>();
/** Counts the requests that were sent. */
let sent = () => {};

/** Sends a request and reads its answer. */
async function ask(agent: Agent, address: string, path: string, body?: object): Promise<void> {
  const outgoing = request(`${address}${path}`, { agent, method: body === undefined ? 'GET' : 'POST' });
  calls.add(outgoing);
  if (body !== undefined) outgoing.setHeader('content-type', 'application/json');
  const said = new Promise<string>((resolve) => {
    outgoing.once('error', () => resolve('lost'));
    outgoing.once('response', (answer) => {
      answer.resume().once('close', () => resolve(String(answer.statusCode)));
    });
  });
  outgoing.once('finish', () => sent());
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const status = await said;
  calls.delete(outgoing);
  if (!over.signal.aborted) counts.set(status, (counts.get(status) ?? 0) + 1);
}

let texts = 0;
/** Each text is new: vectors that were paid for are kept. */
const newTexts = () => Array.from({ length: TEXTS }, () => `text ${process.pid} ${(texts += 1)}`);

interface Load {
  readonly callers: number;
  readonly call: (agent: Agent, address: string, caller: number) => Promise<void>;
}

const loads: Readonly<Record<string, Load>> = {
  'neighbour-exports': {
    callers: 2,
    call: (agent, address) => ask(agent, address, '/canonical/tenants/bulk/export'),
  },
  'neighbour-answers': {
    callers: 4,
    call: (agent, address) => ask(agent, address, '/embeddings', { texts: newTexts() }),
  },
  'neighbour-waits': {
    callers: WAITERS,
    async call(agent, address, caller) {
      const begun = performance.now();
      const wish = { workerId: `w${caller}`, handlerIds: ['work'], waitSeconds: 20 };
      await ask(agent, address, '/execution/workers/leases', wish);
      if (performance.now() - begun < IDLE_MS)
        await setTimeout(IDLE_MS, null, { signal: over.signal }).catch(() => null);
    },
  },
};

async function run(address: string): Promise<void> {
  const { callers, call } = loads[kind] ?? { callers: 0, call: () => Promise.resolve() };
  over = new AbortController();
  counts.clear();
  let left = callers;
  sent = () => {
    left -= 1;
    if (left === 0) process.send?.('begun');
  };
  const all = Array.from({ length: callers }, async (_, caller) => {
    const localAddress = `127.0.3.${1 + Math.floor(caller / WAITERS_OF_AN_ADDRESS)}`;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress });
    while (!over.signal.aborted) await call(agent, address, caller);
    agent.destroy();
  });
  await Promise.all(all);
}

let running = Promise.resolve();
process.on('message', (message: string) => {
  if (message !== 'stop') {
    running = run(message);
    return;
  }
  over.abort();
  const found = Object.fromEntries(counts);
  for (const call of calls) call.destroy();
  void running.then(() => process.send?.(found));
});
process.on('disconnect', () => process.exit(0));
process.send?.({ port: kind === 'neighbour-answers' ? await serveModel() : 0 });
