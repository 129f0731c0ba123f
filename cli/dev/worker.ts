import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { warn } from '../output.ts';
import type { FromWorker } from './messages.ts';
import { scripts } from './scripts.ts';
import type { ApiKey } from './seed.ts';
import { FilesWatch } from './watch.ts';

/** How a load of the worker ended: its handlers, or why it has none. */
export type Loaded =
  | { readonly handlerIds: readonly string[]; readonly unknownIds: readonly string[]; readonly reason: null }
  | { readonly handlerIds: null; readonly reason: string };

/** The longest time that a worker may take to give its runs back. */
const STOP_MS_MAX = 10_000;

/** After this time `svc dev` shows its address although the worker is not there. */
const LOAD_MS_MAX = 10_000;

export interface WorkerOptions {
  /** Absolute. */
  readonly path: string;
  readonly address: string;
  readonly key: ApiKey | null;
  /** Called with the end of each load after the first, and when the process of the worker ends by itself. */
  readonly heard: (loaded: Loaded) => void;
}

/** The worker of one module in a process of its own, which a change of the module replaces. The server never stops. */
export class DevWorker {
  readonly #options: WorkerOptions;
  readonly #watch: FilesWatch;
  #child: ChildProcess | null = null;
  #ending: ChildProcess | null = null;
  /** Loads follow each other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isStale = false;
  #isOver = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#watch = new FilesWatch({ changed: () => this.#change(), warn });
    this.#watch.add(options.path);
  }

  /** The first load, or its present state when that takes long: the end is heard then. `null` if a change came first. */
  async start(): Promise<Loaded | null> {
    const load = this.#load();
    this.#turn = load;
    const slow = Promise.withResolvers<null>();
    const timer = setTimeout(() => slow.resolve(null), LOAD_MS_MAX);
    const isSlow = await Promise.race([load.then(() => false), slow.promise.then(() => true)]);
    clearTimeout(timer);
    if (!isSlow) return load;
    this.#turn = load.then((loaded) => this.#hear(loaded));
    return { handlerIds: null, reason: 'it is still loading' };
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#watch.close();
    await this.#end();
    await this.#turn;
  }

  /** Ends the process at once: when this one ends, the other may be in a loop that hears nothing. */
  kill(): void {
    this.#ending?.kill('SIGKILL');
    this.#child?.kill('SIGKILL');
  }

  #change(): void {
    if (this.#isStale || this.#isOver) return;
    this.#isStale = true;
    // A load that never ends must not hold up the next one.
    const ended = this.#end();
    this.#turn = this.#turn.then(async () => {
      await ended;
      this.#isStale = false;
      if (!this.#isOver) this.#hear(await this.#load());
    });
  }

  #hear(loaded: Loaded | null): void {
    if (loaded !== null && !this.#isOver) this.#options.heard(loaded);
  }

  /** `null` if this object ended the process while it loaded. */
  async #load(): Promise<Loaded | null> {
    const { path, address, key } = this.#options;
    const credential = key === null ? {} : { SVC_API_KEY: key.value, SVC_API_KEY_HEADER: key.header };
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
        '--enable-source-maps',
        scripts.worker,
        path,
      ],
      {
        // A group of its own: Ctrl-C reaches `svc dev` alone, which stops the worker before the server.
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        env: { ...process.env, SVC_BASE_URL: address, ...credential },
      },
    );
    this.#child = child;
    return new Promise((settle) => {
      let isReady = false;
      child.on('message', (message: FromWorker) => {
        if (message.kind === 'loaded') return this.#watch.add(message.path);
        isReady = message.kind === 'ready';
        if (message.kind === 'ready') {
          const { handlerIds, unknownIds } = message;
          settle({ handlerIds, unknownIds, reason: null });
        } else settle({ handlerIds: null, reason: message.reason });
      });
      child.once('exit', (code, signal) => {
        const ended = { handlerIds: null, reason: `its process ended with ${code ?? signal}` };
        const endedAlone = this.#child === child;
        settle(endedAlone ? ended : null);
        if (isReady && endedAlone) this.#hear(ended);
      });
    });
  }

  /** Ends the process. Its runs are given back: the next one continues them. */
  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    this.#ending = child;
    const exit = once(child, 'exit');
    if (child.connected) child.send({ kind: 'stop' });
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await exit;
    clearTimeout(timer);
  }
}
