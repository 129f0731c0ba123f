import { type RunningEmulator, startFirestoreEmulator } from './firestore.ts';
import { type RunningFunction, startFunction } from './functions.ts';
import { localNames, tokenCommand } from './identity.ts';
import {
  drainMsOf,
  emulatorVariables,
  functionsOf,
  jobsFor,
  queueOf,
  routesTo,
  settingsFor,
} from './local-functions.ts';
import { type OidcIssuer, startOidcIssuer } from './oidc-issuer.ts';
import { type Router, startRouter } from './router.ts';
import { Scheduler } from './scheduler.ts';
import { realWorld, startTasksEmulator, type TasksEmulator } from './tasks/tasks-emulator.ts';

export interface LocalCloudOptions {
  /** The module that registers the functions. */
  readonly entry: string;
  readonly port: number;
  readonly adminPort: number;
  readonly oidc: boolean;
  /** A folder in which tasks survive the process. */
  readonly data: string | undefined;
  /** The environment and the settings of the user. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** Receives the errors of the running parts. */
  readonly log: (line: string) => void;
}

const stopGraceMs = 5000;

/** All parts of the cloud on one machine, in one process except for the database and the functions. */
export class LocalCloud {
  readonly #options: LocalCloudOptions;
  #issuer: OidcIssuer | undefined;
  #router: Router | undefined;
  #firestore: RunningEmulator | undefined;
  #tasks: TasksEmulator | undefined;
  #scheduler: Scheduler | undefined;
  #functions: readonly RunningFunction[] = [];

  constructor(options: LocalCloudOptions) {
    this.#options = options;
  }

  /**
   * Throws an Error if a part does not start; `stop` then stops the parts that did. Resolves with the text for the
   * terminal.
   */
  async start(): Promise<string> {
    const { port, oidc, given } = this.#options;
    // Bind the router first: the functions need the address of the worker behind it.
    const issuer = (this.#issuer = await startOidcIssuer());
    const router = (this.#router = await startRouter({
      host: '127.0.0.1',
      port,
      stopMs: drainMsOf(given) + 2_000,
    }));
    const settings = settingsFor({ routerUrl: router.url, issuer }, { oidc, given });
    await this.#startEmulators(issuer, settings);
    const firestoreHost = this.#firestore?.host ?? '';
    const tasksHost = `${this.#tasks?.host}:${this.#tasks?.port}`;
    const ports = await this.#startFunctions({
      ...settings,
      ...emulatorVariables({ firestoreHost, tasksHost }),
    });
    router.open(routesTo(ports, settings));
    for (const job of jobsFor(ports)) this.#scheduler?.add(job);
    return this.#greeting(router, issuer, { firestoreHost, tasksHost });
  }

  /** Resolves with the reason when a part ends by itself. */
  ended(): Promise<string> {
    const functions = this.#functions.map(
      async ({ name, ended }) => `The function ${name} stopped: ${await ended}.`,
    );
    const firestore = this.#firestore?.ended.then((how) => `The Firestore emulator stopped: ${how}.`);
    return Promise.race([...functions, ...(firestore === undefined ? [] : [firestore])]);
  }

  /** Stop the senders first, then the functions, then the storage. */
  async stop(): Promise<void> {
    const routed = this.#router?.stop();
    await Promise.all([this.#scheduler?.stop(stopGraceMs), this.#tasks?.hold(), routed]);
    await Promise.all(this.#functions.map((running) => running.stop()));
    await Promise.all([this.#tasks?.stop(), this.#firestore?.stop()]);
    await this.#issuer?.stop();
  }

  async #startEmulators(
    issuer: OidcIssuer,
    settings: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    const { adminPort, data, log } = this.#options;
    const scheduler = (this.#scheduler = new Scheduler({
      world: realWorld(),
      mint: (claims) => issuer.mint(claims),
      log,
    }));
    this.#tasks = await startTasksEmulator({
      adminPort,
      issuer,
      scheduler,
      stopGraceMs,
      queues: [queueOf(settings)],
      ...(data === undefined ? {} : { dataDir: data }),
    });
    this.#firestore = await startFirestoreEmulator();
  }

  /** Resolves with the port of each function. */
  async #startFunctions(
    env: Readonly<Record<string, string | undefined>>,
  ): Promise<ReadonlyMap<string, number>> {
    const { entry } = this.#options;
    const starting = await Promise.allSettled(
      functionsOf(env).map((name) => startFunction({ name, entry, env, stopMs: drainMsOf(env) + 7_000 })),
    );
    this.#functions = starting.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    for (const outcome of starting) if (outcome.status === 'rejected') throw outcome.reason;
    return new Map(this.#functions.map((running) => [running.name, running.port]));
  }

  #greeting(
    { url }: Router,
    issuer: OidcIssuer,
    { firestoreHost, tasksHost }: { readonly firestoreHost: string; readonly tasksHost: string },
  ): string {
    const { oidc } = this.#options;
    const page = this.#tasks?.adminUrl;
    return [
      `The local cloud is ready at ${url} (${this.#functions.map(({ name }) => name).join(', ')})`,
      `Firestore emulator at ${firestoreHost}, Cloud Tasks emulator at ${tasksHost}, issuer of tokens at ${issuer.issuer}`,
      `Queues, tasks and scheduler jobs: ${page}`,
      `Identities: ${localNames()}${oidc ? '' : ' (no token needed; --oidc requires one)'}`,
      ...(oidc ? [`Token: ${tokenCommand(issuer)}`] : []),
      `Try: curl ${url}/readiness`,
      `Try: curl -X POST ${page}/scheduler/jobs/reconcile:run`,
      'Ctrl-C stops it',
    ].join('\n');
  }
}
