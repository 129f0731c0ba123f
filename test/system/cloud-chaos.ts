import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type RunningFunction, startFunction } from '../../emulator/functions.ts';
import { emulatorVariables, queueOf, settingsFor } from '../../emulator/local-functions.ts';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import type { FaultSwitches } from '../../emulator/tasks/faults.ts';
import { startTasksEmulator, type TasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { compose } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { inject } from '../../functions/http/host-inject.ts';

/** A deployment in the cloud, of processes that can be killed: two of each function behind one address. */

export type Kind = 'execution' | 'worker' | 'reconcile';
const ENTRY = 'functions/index.ts';

/** The program of a process: those of one function may be of several releases. */
export type EntryOf = (kind: Kind, n: number) => string;

/** The address that answers requests for other paths than those of the functions. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** The answer of a scheduled function: counts, by name. */
export type Counts = Readonly<Record<string, unknown>>;

export class CloudDeployment implements AsyncDisposable {
  readonly #pools: Record<Kind, (RunningFunction | undefined)[]> = {
    execution: [],
    worker: [],
    reconcile: [],
  };
  readonly #starting = new Set<Promise<void>>();
  readonly #listeners: Readonly<Record<string, Listener>>;
  readonly #random: () => number;
  readonly #server: Server;
  #issuer: OidcIssuer | undefined;
  #tasks: TasksEmulator | undefined;
  #env: Readonly<Record<string, string | undefined>> = {};
  readonly #entryOf: EntryOf;
  url = '';

  constructor(
    listeners: Readonly<Record<string, Listener>>,
    random: () => number,
    entryOf: EntryOf = () => ENTRY,
  ) {
    this.#entryOf = entryOf;
    this.#listeners = listeners;
    this.#random = random;
    this.#server = createServer((from, to) => this.#answer(from, to));
  }

  get tasks(): TasksEmulator {
    if (this.#tasks === undefined) throw new Error('the deployment has not started');
    return this.#tasks;
  }

  get queue(): string {
    return queueOf(this.#env).name ?? '';
  }

  async start(
    /** Settings, by the address of the deployment. */
    givenAt: (url: string) => Readonly<Record<string, string>>,
    firestoreHost: string,
    sizes: Readonly<Record<Kind, number>>,
  ): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const issuer = (this.#issuer = await startOidcIssuer());
    const given = givenAt(this.url);
    const settings = settingsFor({ routerUrl: this.url, issuer }, { oidc: false, given });
    const retryConfig = { maxAttempts: -1, minBackoff: { nanos: 1e8 }, maxBackoff: { seconds: 1 } };
    const tasks = (this.#tasks = await startTasksEmulator({
      issuer,
      stopGraceMs: 0,
      queues: [{ ...queueOf(settings), retryConfig }],
    }));
    const tasksHost = `${tasks.host}:${tasks.port}`;
    this.#env = {
      ...settings,
      ...emulatorVariables({ firestoreHost, tasksHost }),
      PATH: process.env['PATH'],
    };
    for (const kind of ['execution', 'worker', 'reconcile'] as const) {
      for (let n = 0; n < sizes[kind]; n++) void this.#begin(kind, n);
    }
    await Promise.all(this.#starting);
  }

  /** Kills one and starts it again. */
  kill(kind: Kind, n: number): void {
    const running = this.#pools[kind][n];
    if (running === undefined) return;
    this.#pools[kind][n] = undefined;
    const again = running.kill().then(() => this.#begin(kind, n));
    this.#starting.add(again);
    void again.finally(() => this.#starting.delete(again)).catch(() => undefined);
  }

  /** Resolves when every process that is to run runs. */
  async whole(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  async setFaults(faults: FaultSwitches): Promise<void> {
    const response = await fetch(`${this.tasks.adminUrl}/faults`, {
      method: 'PUT',
      body: JSON.stringify(faults),
    });
    if (!response.ok) throw new Error(await response.text());
  }

  /** As the scheduler would; `null` where it failed. */
  async reconcile(): Promise<Counts | null> {
    const running = this.#pools.reconcile[0];
    if (running === undefined) return null;
    const answer = await fetch(`http://127.0.0.1:${running.port}/`, { method: 'POST' }).catch(() => null);
    return answer?.ok === true ? ((await answer.json()) as Counts) : null;
  }

  /** Calls a scheduled function with a later clock: it repeats possibly lost messages after a minute, for which no test waits. */
  async later(name: 'reconcile' | 'prune', ms: number): Promise<Counts> {
    const { settings, faults } = loadConfiguration({
      host: 'functions',
      env: this.#env,
      argv: [],
      readFile: () => undefined,
    });
    if (settings === undefined) throw new Error(faultsText(faults));
    const world = { ...machine, clock: { now: () => machine.clock.now() + ms } };
    const service = compose(settings, { world, role: 'maintenance', writeLog: () => undefined });
    try {
      const { status, body } = await inject(await service.functionChain(name), {
        method: 'POST',
        path: '/',
      });
      if (status !== 200) throw new Error(`${name} answered ${status}`);
      return JSON.parse(body) as Counts;
    } finally {
      await service.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#starting);
    await this.#tasks?.stop();
    const all = Object.values(this.#pools).flatMap((pool) => pool.filter((each) => each !== undefined));
    await Promise.all(all.map((running) => running.kill()));
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#issuer?.stop();
  }

  #begin(kind: Kind, n: number): Promise<void> {
    const started = startFunction({
      name: kind,
      entry: this.#entryOf(kind, n),
      env: this.#env,
      silent: true,
    }).then((running) => {
      this.#pools[kind][n] = running;
    });
    this.#starting.add(started);
    void started.finally(() => this.#starting.delete(started)).catch(() => undefined);
    return started;
  }

  /** Forwards the request to a process that is up; a broken answer counts as none. */
  #answer(from: IncomingMessage, to: ServerResponse): void {
    const path = (from.url ?? '').split('?')[0] ?? '';
    const listener = this.#listeners[path];
    if (listener !== undefined) return void listener(from, to);
    const living = this.#pools[path.startsWith('/tasks/') ? 'worker' : 'execution'].filter(
      (each) => each !== undefined,
    );
    const target = living[Math.floor(this.#random() * living.length)];
    if (target === undefined) return void to.writeHead(503).end();
    const { method, url, headers } = from;
    const passed = request({
      host: '127.0.0.1',
      port: target.port,
      method,
      path: url,
      headers,
      agent: false,
    });
    passed.on('response', (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', () => to.destroy());
      answer.pipe(to);
    });
    passed.on('error', () => (to.headersSent ? to.destroy() : to.writeHead(503).end()));
    from.pipe(passed);
  }
}

/** The outside effects of attempts: each attempt has one. */
export class Ledger {
  readonly marks = new Map<string, number[]>();
  readonly twice: string[] = [];

  readonly listener: Listener = async (from, to) => {
    const { runId, attempt } = JSON.parse(await text(from)) as { runId: string; attempt: number };
    to.writeHead(this.mark(runId, attempt) ? 204 : 409).end();
  };

  mark(runId: string, attempt: number): boolean {
    const attempts = this.marks.get(runId) ?? [];
    this.marks.set(runId, attempts);
    const isFirst = !attempts.includes(attempt);
    if (!isFirst) this.twice.push(`${runId} ${attempt}`);
    attempts.push(attempt);
    return isFirst;
  }
}
