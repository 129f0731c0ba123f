import { type ServerProcess, startServer } from '../support/server-process.ts';

/** Several server processes over one database, which may be killed at any moment and come back. */
export class Servers implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #settings: readonly string[];
  readonly #running: (ServerProcess | undefined)[] = [];
  readonly #starting: Promise<void>[] = [];

  constructor(env: Readonly<Record<string, string>>, settings: readonly string[] = []) {
    this.#env = env;
    this.#settings = settings;
  }

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, n) => this.#begin(n)));
  }

  /** The address of a running server, of the preferred one if it runs; waits until one runs. */
  async address(preferred: number): Promise<string> {
    for (;;) {
      const any = this.#running.find((each) => each !== undefined);
      const server = this.#running[preferred % this.#running.length] ?? any;
      if (server !== undefined) return server.address;
      await Promise.race(this.#starting);
    }
  }

  /** Ends one as a power failure would, and starts it again. */
  kill(n: number): void {
    const server = this.#running[n];
    if (server === undefined) return;
    this.#running[n] = undefined;
    this.#starting[n] = server.kill().then(() => this.#begin(n));
  }

  /** Ends all as a deployment would; gives their exit codes. */
  async stop(): Promise<(number | null)[]> {
    await Promise.all(this.#starting);
    return Promise.all(this.#running.map(async (server) => (server === undefined ? null : server.stop())));
  }

  /** Leaves nothing behind, however a test ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#starting);
    for (const server of this.#running) await server?.kill();
  }

  #begin(n: number): Promise<void> {
    const started = startServer(this.#env, this.#settings).then((server) => {
      this.#running[n] = server;
    });
    this.#starting[n] = started;
    return started;
  }
}
