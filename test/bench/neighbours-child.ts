/** Hostile neighbours in a process of their own: `neighbours-child.ts ADDRESS PAUSE_MS NETWORK`. Prints its counts when it is ended. */
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';
import { setTimeout } from 'node:timers/promises';

const NEIGHBOURS = 20;
const PAYLOAD = 'x'.repeat(250_000);
const CONTAINERS = Buffer.from(`{"artifact":{"content":[${'[],'.repeat(1_300_000)}[]]}}`);

interface Attack {
  readonly method: string;
  readonly path: string;
  readonly body?: (count: number) => Buffer;
}

const json = (value: object) => Buffer.from(JSON.stringify(value));
const scope = { productId: 'hostile', tenantId: 'hostile' };

/** Four neighbours do each. */
const attacks: Readonly<Record<string, Attack>> = {
  lists: { method: 'GET', path: '/execution/runs?limit=200&tag.mark=absent' },
  starts: { method: 'POST', path: '/execution/runs', body: () => json({ handlerId: 'work', scope }) },
  refusedStarts: {
    method: 'POST',
    path: '/execution/runs',
    body: () => json({ handlerId: 'work', pluginId: 'absent', scope, payload: PAYLOAD }),
  },
  bigBodies: { method: 'POST', path: '/execution/workers/leases/artifacts', body: () => CONTAINERS },
  openapi: { method: 'GET', path: '/openapi/svc.json' },
};

const [address = '', pause = '0', network = '1'] = process.argv.slice(2);

/** So many calls, or this time, use up the permits of a minute where there are fewer. */
const BURST_CALLS = 150;
const BURST_MS = 15_000;
const target = new URL(address);
const counts = new Map<string, number>();
let bursting = NEIGHBOURS;
// Beside server and reader on one machine: see who starts this process.
setPriority(19);

/** The status of the answer, or `lost` for a connection that the server ended. */
function ask(agent: Agent, localAddress: string, { method, path, body }: Attack, count: number) {
  return new Promise<string>((resolve) => {
    const bytes = body?.(count);
    const headers =
      bytes === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': bytes.length };
    const { hostname, port } = target;
    const call = request({ agent, localAddress, hostname, port, method, path, headers }, (answer) => {
      answer.resume();
      answer.once('close', () => resolve(String(answer.statusCode)));
    });
    call.once('error', () => resolve('lost'));
    call.end(bytes);
  });
}

async function attack(number: number): Promise<void> {
  const names = Object.keys(attacks);
  const name = names[number % names.length] ?? '';
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const once = async (count: number): Promise<string> => {
    const status = await ask(agent, `127.0.${network}.${number + 1}`, attacks[name] as Attack, count);
    counts.set(`${name} ${status}`, (counts.get(`${name} ${status}`) ?? 0) + 1);
    return status;
  };
  let count = 0;
  const startedAt = performance.now();
  while (count < BURST_CALLS && performance.now() - startedAt < BURST_MS) {
    count += 1;
    if ((await once(count)) === '429') break;
  }
  bursting -= 1;
  if (bursting === 0) process.stdout.write('ready\n');
  for (;;) {
    count += 1;
    await once(count);
    await setTimeout(Number(pause));
  }
}

process.once('SIGTERM', () => {
  process.stdout.write(
    JSON.stringify(Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))),
  );
  process.exit(0);
});
await Promise.all(Array.from({ length: NEIGHBOURS }, (_, number) => attack(number)));
