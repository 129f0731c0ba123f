import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { operations } from '../contracts/generated/operations.ts';
import { type RunningEmulator, startFirestoreEmulator } from './firestore.ts';
import { type RunningFunction, startFunction } from './functions.ts';
import { localIdentity, tokenHint } from './identity.ts';
import { type OidcIssuer, startOidcIssuer } from './oidc-issuer.ts';
import { firstSegment, type Router, startRouter } from './router.ts';

/** The cloud on one machine: `npm run emulator`. */

const root = resolve(import.meta.dirname, '..');

const help = `The cloud on one machine: the official Firestore emulator, each function behind functions-framework in a process of
its own, and one address before them.

Usage: npm run emulator -- [--built] [--oidc] [--Key=value …]

  --help    shows this
  --built   serves the bundle of npm run build instead of the sources
  --oidc    asks for identity tokens, as the cloud would, and starts an issuer of them

  PORT                     the one address, default 5220; 0 takes a free one
  GOOGLE_CLOUD_PROJECT     project in the emulator, default demo-svc
  FIRESTORE_EMULATOR_HOST  an emulator that is running already
  FIRESTORE_EMULATOR_JAR   the emulator's jar, where it is not found by itself

Every setting of the service can be given in the environment, or as --Key=value.
It listens on loopback. Without --oidc it is in Development: whoever is on this machine may use it.`;

/** What was started, in the order in which it has to be stopped. */
interface LocalCloud {
  router: Router | undefined;
  functions: readonly RunningFunction[];
  firestore: RunningEmulator | undefined;
  issuer: OidcIssuer | undefined;
}

interface Options {
  readonly built: boolean;
  readonly oidc: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(help);
    return 0;
  }
  const options = optionsOf(argv);
  if (options === undefined) return complain('Options are written --Key=value; --help shows them.');
  const entry = join(root, options.built ? 'dist/functions/index.js' : 'functions/index.ts');
  if (!existsSync(entry)) return complain('There is no bundle yet: npm run build makes it.');
  const cloud: LocalCloud = { router: undefined, functions: [], firestore: undefined, issuer: undefined };
  const signal = firstSignal();
  try {
    const started = start(cloud, entry, options);
    if (await Promise.race([started.then(() => false), signal.then(() => true)])) {
      // Whatever is half started is stopped once it stands, so that nothing is left behind.
      await started.catch(() => undefined);
      return 0;
    }
    const crashed = cloud.functions.map(
      async ({ name, ended }) => `The function ${name} stopped: ${await ended}.`,
    );
    const emulator = cloud.firestore?.ended.then((how) => `The Firestore emulator stopped: ${how}.`);
    const reasons = [...crashed, ...(emulator === undefined ? [] : [emulator])];
    const reason = await Promise.race([signal.then(() => undefined), ...reasons]);
    return reason === undefined ? 0 : complain(reason);
  } catch (error) {
    return complain(reasonOf(error));
  } finally {
    await stop(cloud);
  }
}

async function start(cloud: LocalCloud, entry: string, { oidc, settings }: Options): Promise<void> {
  const firestore = await startFirestoreEmulator();
  cloud.firestore = firestore;
  if (oidc) cloud.issuer = await startOidcIssuer();
  const env = {
    SVC_ENVIRONMENT: 'Development',
    GOOGLE_CLOUD_PROJECT: 'demo-svc',
    Server__LogLevel: 'warning',
    ...(cloud.issuer && localIdentity(cloud.issuer, { ...process.env, ...settings })),
    ...process.env,
    ...settings,
    NODE_ENV: 'production',
    FIRESTORE_EMULATOR_HOST: firestore.host,
    METADATA_SERVER_DETECTION: 'none',
    // The router is the one proxy in front.
    Server__TrustedProxyHops: '1',
  };
  const groups = [...new Set(Object.values(operations).map(({ group }) => group))];
  const starting = await Promise.allSettled(groups.map((name) => startFunction({ name, entry, env })));
  cloud.functions = starting.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  for (const outcome of starting) if (outcome.status === 'rejected') throw outcome.reason;
  const port = Number(settings.Server__Port ?? process.env.PORT ?? 5220);
  const ports = new Map(cloud.functions.map((running) => [running.name, running.port]));
  cloud.router = await startRouter({
    host: '127.0.0.1',
    port,
    routes: routesTo(ports),
    otherwise: ports.get('server') ?? 0,
  });
  const { url } = cloud.router;
  console.log(
    `The local cloud is ready at ${url} (${groups.join(', ')}; Firestore emulator at ${firestore.host})`,
  );
  console.log(`Try: curl ${url}/readiness`);
  if (cloud.issuer) console.log(tokenHint(cloud.issuer));
}

/** Which function answers a path, by its first segment, from the catalog. */
function routesTo(ports: ReadonlyMap<string, number>): Map<string, number> {
  const routes = new Map<string, number>();
  for (const { group, routes: paths } of Object.values(operations)) {
    for (const { segments } of paths) {
      const [first] = segments;
      const port = ports.get(group);
      if (first !== undefined && 'literal' in first && port !== undefined)
        routes.set(firstSegment(`/${first.literal}`), port);
    }
  }
  return routes;
}

async function stop({ router, functions, firestore, issuer }: LocalCloud): Promise<void> {
  await router?.stop();
  await Promise.all(functions.map((running) => running.stop()));
  await Promise.all([firestore?.stop(), issuer?.stop()]);
}

/** The arguments, `undefined` where one is none. */
function optionsOf(argv: readonly string[]): Options | undefined {
  const flags = new Set(['--built', '--oidc']);
  const settings = settingsOf(argv.filter((argument) => !flags.has(argument)));
  if (settings === undefined) return undefined;
  return { built: argv.includes('--built'), oidc: argv.includes('--oidc'), settings };
}

/** `--Server:Port=1` as the variable `Server__Port`, which is how a function is told. */
function settingsOf(argv: readonly string[]): Record<string, string> | undefined {
  const settings: Record<string, string> = {};
  for (const argument of argv) {
    const [, key, value] = /^--([A-Za-z0-9:]+)=(.*)$/s.exec(argument) ?? [];
    if (key === undefined || value === undefined) return undefined;
    settings[key.replaceAll(':', '__')] = value;
  }
  return settings;
}

/** Resolves with the first signal to stop; the second one ends the process at once. */
function firstSignal(): Promise<void> {
  const { promise, resolve: resolveFirst } = Promise.withResolvers<void>();
  let stopping = false;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stopping) process.exit(name === 'SIGINT' ? 130 : 143);
      stopping = true;
      resolveFirst();
    });
  }
  return promise;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `Port ${process.env.PORT ?? 5220} is in use. Choose another with PORT; 0 takes a free one.`;
  }
  return error.message;
}

function complain(reason: string): number {
  console.error(reason);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
