import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningFunction, startFunction } from '../../emulator/functions.ts';
import { emulatorVariables, queueOf, routesTo, settingsFor } from '../../emulator/local-functions.ts';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { type Router, startRouter } from '../../emulator/router.ts';
import { startTasksEmulator, type TasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { buildFunctions } from '../../scripts/build.ts';
import { firestoreHost } from '../support/firestore.ts';
import { root } from './program.ts';

const served = ['collections', 'records', 'execution'] as const;
const MINUTE_MS = 60_000;

/** A program by which a process reads a later time, however it asks for it. */
function clockAhead(minutes: number): string {
  const ahead = `const ahead=${minutes * MINUTE_MS},Own=Date;`;
  const created = 'constructor(...given){if(given.length===0)super(Own.now()+ahead);else super(...given)}';
  return `${ahead}globalThis.Date=class Date extends Own{${created}static now(){return Own.now()+ahead}}`;
}

/** The functions as they are built, each a process, over the emulators of Firestore and of Cloud Tasks. */
export class BuiltDeployment implements AsyncDisposable {
  // Inside the project: the bundle loads the framework from there.
  readonly #folder = join(root, `dist/records-deployed-${process.pid}`);
  readonly #running = new Map<string, RunningFunction>();
  readonly #projectId: string;
  #env: Readonly<Record<string, string | undefined>> = {};
  #entry = '';
  #issuer: OidcIssuer | undefined;
  #router: Router | undefined;
  #tasks: TasksEmulator | undefined;

  constructor(projectId: string) {
    this.#projectId = projectId;
  }

  get url(): string {
    return this.#router?.url ?? '';
  }

  async start(given: Readonly<Record<string, string>>): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const { outdir } = await buildFunctions(join(this.#folder, 'functions'));
    this.#entry = join(outdir, 'index.js');
    const issuer = (this.#issuer = await startOidcIssuer());
    const router = (this.#router = await startRouter({ host: '127.0.0.1', port: 0 }));
    const own = { ...given, GOOGLE_CLOUD_PROJECT: this.#projectId, Server__LogLevel: 'error' };
    const settings = settingsFor({ routerUrl: router.url, issuer }, { oidc: false, given: own });
    const retryConfig = { maxAttempts: -1, minBackoff: { nanos: 1e8 }, maxBackoff: { seconds: 1 } };
    const tasks = (this.#tasks = await startTasksEmulator({
      issuer,
      stopGraceMs: 0,
      queues: [{ ...queueOf(settings), retryConfig }],
    }));
    const hosts = { firestoreHost: firestoreHost(), tasksHost: `${tasks.host}:${tasks.port}` };
    this.#env = { ...settings, ...emulatorVariables(hosts), PATH: process.env['PATH'] };
    await Promise.all([...served, 'worker'].map((name) => this.begin(name)));
  }

  /** Starts a process of the function, which gets its requests from now on. */
  async begin(name: string): Promise<void> {
    this.#running.set(name, await startFunction({ name, entry: this.#entry, env: this.#env, silent: true }));
    const ports = new Map([...this.#running].map(([each, { port }]) => [each, port]));
    this.#router?.open(routesTo(ports, this.#env));
  }

  /** Ends the process as a failure of its machine would. Requests to it are refused. */
  async kill(name: string): Promise<void> {
    await this.#running.get(name)?.kill();
  }

  /** Calls the function `prune` as the scheduler would, in a process whose clock is `minutes` ahead. */
  async prune(minutes: number): Promise<Readonly<Record<string, unknown>>> {
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(clockAhead(minutes))}`;
    const env = { ...this.#env, NODE_OPTIONS };
    const prune = await startFunction({ name: 'prune', entry: this.#entry, env, silent: true });
    try {
      const answer = await fetch(`http://127.0.0.1:${prune.port}/`, { method: 'POST' });
      if (!answer.ok) throw new Error(`prune answered ${answer.status}: ${await answer.text()}`);
      const { upkeep } = (await answer.json()) as { upkeep: Readonly<Record<string, unknown>> };
      return upkeep;
    } finally {
      await prune.kill();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks?.stop();
    await Promise.all([...this.#running.values()].map((running) => running.kill()));
    await this.#router?.stop();
    await this.#issuer?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
