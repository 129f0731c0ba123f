import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ServerReadinessReport } from '../../../contracts/generated/models.ts';
import { type RunningFunction, startFunction } from '../../../emulator/functions.ts';
import { routesTo } from '../../../emulator/local-functions.ts';
import type { OidcIssuer } from '../../../emulator/oidc-issuer.ts';
import { type Router, startRouter } from '../../../emulator/router.ts';
import { unzip } from './unzip.ts';

/** Cloud Run for the functions of one deployment, and the load balancer before them. */

const root = resolve(import.meta.dirname, '../../..');
const framework = '@google-cloud/functions-framework';

const READY_MS = 240_000;

export interface Release {
  /** The archive that Terraform uploads. */
  readonly bundle: string;
  /** Content of `svcsettings.json`, by function. */
  readonly settings: (name: string) => string;
  /** The environment that Terraform sets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly functions: readonly string[];
}

export interface Emulators {
  readonly folder: string;
  readonly issuer: Pick<OidcIssuer, 'issuer' | 'keySetUrl'>;
  readonly firestoreHost: string;
  readonly tasksHost: string;
  /** The endpoint of Cloud Storage. */
  readonly storageEndpoint: string;
}

export class Platform implements AsyncDisposable {
  readonly router: Router;
  readonly #emulators: Emulators;
  #running: readonly RunningFunction[] = [];

  private constructor(router: Router, emulators: Emulators) {
    this.router = router;
    this.#emulators = emulators;
  }

  static async start(emulators: Emulators): Promise<Platform> {
    return new Platform(await startRouter({ host: '127.0.0.1', port: 0 }), emulators);
  }

  addressOf(name: string): string {
    return `http://127.0.0.1:${this.#running.find((each) => each.name === name)?.port}/`;
  }

  /** Starts the new release, sends requests to it, and lets the old one finish those that it has. */
  async roll(release: Release): Promise<void> {
    const { folder } = this.#emulators;
    const source = await mkdtemp(join(folder, 'source-'));
    await unzip(await readFile(release.bundle), source);
    // As the platform installs it beside the bundle.
    await mkdir(join(source, 'node_modules/@google-cloud'), { recursive: true });
    await symlink(join(root, 'node_modules', framework), join(source, 'node_modules', framework));
    const starting = await Promise.allSettled(
      release.functions.map((name) => this.#start(name, source, release)),
    );
    const started = starting.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = starting.find((each) => each.status === 'rejected');
    if (failed !== undefined) {
      await Promise.all(started.map((each) => each.stop()));
      throw failed.reason;
    }
    const before = this.#running;
    this.#running = started;
    await ready(this.addressOf('server'));
    const ports = new Map(this.#running.map(({ name, port }) => [name, port]));
    this.router.open(routesTo(ports, {}));
    await Promise.all(before.map((each) => each.stop()));
  }

  async #start(name: string, source: string, release: Release): Promise<RunningFunction> {
    const { issuer, firestoreHost, tasksHost, storageEndpoint } = this.#emulators;
    const settings = join(source, `svcsettings-${name}.json`);
    await writeFile(settings, release.settings(name));
    const env = {
      ...release.environment,
      SVC_SETTINGS: settings,
      // Not `K_SERVICE`: with it the service rightly refuses an issuer of tokens on loopback.
      FIRESTORE_EMULATOR_HOST: firestoreHost,
      CLOUD_TASKS_EMULATOR_HOST: tasksHost,
      METADATA_SERVER_DETECTION: 'none',
      ExecutionRuntime__ArtifactStorageEndpoint: storageEndpoint,
      Server__Oidc__Issuers__0: issuer.issuer,
      Server__Oidc__KeySetUrl: issuer.keySetUrl,
      Server__TrustedProxyHops: '1',
    };
    return startFunction({ name, entry: join(source, 'index.js'), env, silent: true });
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = [];
    await Promise.all(running.map((each) => each.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.router.stop();
    await this.stop();
  }
}

/** The first call of a cold function opens its database, which may take longer than a check waits on a busy machine. */
async function ready(address: string): Promise<void> {
  const late = AbortSignal.timeout(READY_MS);
  for (;;) {
    const report = (await (await fetch(`${address}readiness`)).json()) as ServerReadinessReport;
    if (report.ready) return;
    if (late.aborted) throw new Error(`the functions are not ready: ${report.blockers.join(' ')}`);
  }
}
