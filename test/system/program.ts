import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { compileCache } from '../support/compile-cache.ts';

export const root = resolve(import.meta.dirname, '../..');

export interface ProgramOptions {
  readonly cwd?: string;
  /** Added to a minimal environment: the variables of the machine are not passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: this Node. */
  readonly command?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process under test. Tests wait for its output and its end, never for time to pass. */
export class Program implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';
  #listeners: (() => void)[] = [];

  constructor(
    args: readonly string[],
    { cwd = root, env = {}, command = process.execPath }: ProgramOptions = {},
  ) {
    const { PATH, HOME, JAVA_HOME, FIRESTORE_EMULATOR_JAR } = process.env;
    const kept = Object.entries({ PATH, HOME, JAVA_HOME, FIRESTORE_EMULATOR_JAR });
    const base = Object.fromEntries(kept.filter(([, value]) => value !== undefined));
    this.process = spawn(command, args, {
      cwd,
      env: { ...base, ...compileCache, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exit = new Promise((settle) =>
      this.process.once('close', (code, signal) => settle({ code, signal })),
    );
    this.process.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
      this.#notify();
    });
    this.process.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
      this.#notify();
    });
  }

  /** The first match in what was said so far or will be said. Fails when the process ends without it. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    let ended: Exit | undefined;
    void this.exit.then((exit) => {
      ended = exit;
      this.#notify();
    });
    for (;;) {
      const match = pattern.exec(`${this.stdout}\n${this.stderr}`);
      if (match !== null) return match;
      if (ended !== undefined)
        throw new Error(`ended with ${JSON.stringify(ended)}: ${this.stdout}${this.stderr}`);
      await new Promise<void>((wake) => this.#listeners.push(wake));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    await this.exit;
  }

  #notify(): void {
    for (const wake of this.#listeners.splice(0)) wake();
  }
}

/** Resolves when no process listens on the port any more. */
export async function refusesConnections(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const refused = await new Promise<boolean>((settle) => {
      socket.once('connect', () => settle(false));
      socket.once('error', () => settle(true));
    });
    socket.destroy();
    if (refused) return;
  }
}

/** A commit of which the server has the first half; `finish` sends the rest and answers what came back. */
export async function halfSentCommit(
  port: number,
  tenantId: string,
  fields: readonly string[] = [],
): Promise<{ finish(): Promise<string> }> {
  const body = JSON.stringify({
    tenantId,
    idempotencyKey: 'held',
    outbox: [{ topic: 'a', key: 'k', payload: {} }],
  });
  const head = [
    `POST /canonical/tenants/${tenantId}/transactions HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    // The server's 100 Continue shows that the request has reached the operation.
    'Expect: 100-continue',
    ...fields,
  ];
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  const closed = new Promise<void>((settle) => socket.once('close', () => settle()));
  const wentOn = new Promise<void>((settle, reject) => {
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
      if (answer.includes('100 Continue')) settle();
    });
    socket.once('error', reject);
  });
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await wentOn;
  socket.write(body.slice(0, 10));
  return {
    async finish() {
      socket.write(body.slice(10));
      await closed;
      return answer;
    },
  };
}

export function commit(url: string, tenantId: string, idempotencyKey: string): Promise<Response> {
  return fetch(`${url}/canonical/tenants/${tenantId}/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tenantId, idempotencyKey, outbox: [{ topic: 'a', key: 'k', payload: {} }] }),
  });
}
