import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLoopbackHost } from '../../functions/http/loopback-host.ts';
import { drainedBody } from '../drained-body.ts';
import type { Scheduler } from '../scheduler.ts';
import { adminPage } from './admin-page.ts';
import { type Faults, readFaults } from './faults.ts';
import { jobView, runView, shownState } from './shown-state.ts';
import type { TasksState } from './tasks-state.ts';

/**
 * The admin server for people: queues and tasks as a page at `/` and as JSON at `/state`, fault switches at `/faults`
 * (`PUT` replaces, `DELETE` clears). With a scheduler it also shows jobs, and `POST /scheduler/jobs/{name}:run` runs
 * one now.
 */
export interface AdminServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  readonly state: TasksState;
  readonly faults: Faults;
  readonly scheduler?: Pick<Scheduler, 'jobs' | 'run'>;
}

const bodyBytesMax = 64 * 1024;

export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  server.on('request', (request, response) => {
    answer(request, options).then(
      (reply) => send(response, reply),
      () => send(response, failure(500, 'The emulator failed.')),
    );
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Reply {
  readonly status: number;
  /** A string is an HTML page, anything else is JSON. */
  readonly body: unknown;
  readonly fields?: Readonly<Record<string, string>>;
}

async function answer(request: IncomingMessage, options: AdminOptions): Promise<Reply> {
  // Against DNS rebinding: a web page whose host name resolves to this machine sends that name.
  if (!isLoopbackHost(request.headers.host ?? ''))
    return failure(403, 'The Host field does not name this machine as loopback.');
  const [path = ''] = (request.url ?? '').split('?');
  const { method = '' } = request;
  if (path === '/faults') return answerFaults(request, options.faults);
  if (path.startsWith('/scheduler/')) return answerScheduler(path, request, options);
  if (path !== '/' && path !== '/state') return failure(404, 'There is nothing at this path.');
  if (method !== 'GET') return wrongMethod('GET');
  const shown = shownState(options);
  return { status: 200, body: path === '/' ? adminPage(shown) : shown };
}

async function answerFaults(request: IncomingMessage, faults: Faults): Promise<Reply> {
  const { method = '' } = request;
  if (method === 'PUT') {
    const given = await readJson(request);
    const switches = readFaults(given);
    if (typeof switches === 'string') return failure(400, switches);
    faults.set(switches);
  } else if (method === 'DELETE') faults.set({});
  else if (method !== 'GET') return wrongMethod('GET, PUT, DELETE');
  return { status: 200, body: { switches: faults.switches, struck: faults.struck } };
}

async function answerScheduler(
  path: string,
  request: IncomingMessage,
  { scheduler }: AdminOptions,
): Promise<Reply> {
  const { method = '', headers } = request;
  if (scheduler === undefined) return failure(404, 'There is no scheduler beside this emulator.');
  if (path === '/scheduler/jobs')
    return method === 'GET'
      ? { status: 200, body: { jobs: scheduler.jobs().map(jobView) } }
      : wrongMethod('GET');
  const [, name] = /^\/scheduler\/jobs\/([^/:]+):run$/.exec(path) ?? [];
  if (name === undefined) return failure(404, 'There is nothing at this path.');
  if (method !== 'POST') return wrongMethod('POST');
  // Any web page may send a POST without a body to any address; browsers then add `Origin`.
  if (headers.origin !== undefined) return failure(403, 'A page of the web may not run a job.');
  const run = scheduler.run(name);
  if (run === undefined) return failure(404, 'There is no such job.');
  return { status: 200, body: { name, run: runView(await run) } };
}

/** `undefined`, which is no valid set of switches, for invalid JSON and for a body that is too large. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await drainedBody(request, bodyBytesMax);
  if (body === null) return undefined;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function wrongMethod(allow: string): Reply {
  return { ...failure(405, `This path answers ${allow} only.`), fields: { allow } };
}

function failure(status: number, error: string): Reply {
  return { status, body: { error } };
}

function send(response: ServerResponse, { status, body, fields = {} }: Reply): void {
  const isPage = typeof body === 'string';
  // The rest of an unread body would be parsed as the next request.
  const ending = response.req.complete ? {} : { connection: 'close' };
  response.writeHead(status, {
    'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    ...fields,
    ...ending,
  });
  response.end(isPage ? body : `${JSON.stringify(body, null, 2)}\n`);
}
