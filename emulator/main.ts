import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { firstStopSignal } from '../functions/kernel/stop-signals.ts';
import { LocalCloud, type LocalCloudOptions } from './local-cloud.ts';
import { help, portsOf, readOptions } from './options.ts';
import { showState } from './tasks/show.ts';

/** The cloud on one machine: `npm run emulator`. */

const root = resolve(import.meta.dirname, '..');

async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (typeof options === 'string') return complain(options);
  if (options.help) {
    console.log(help);
    return 0;
  }
  const { built, oidc, data, settings } = options;
  try {
    const ports = portsOf(settings, process.env);
    if (options.show) {
      console.log(await showState(`http://127.0.0.1:${ports.adminPort}`));
      return 0;
    }
    const entry = join(root, built ? 'dist/functions/index.js' : 'functions/index.ts');
    if (!existsSync(entry)) return complain('There is no bundle yet: npm run build makes it.');
    const given = { ...process.env, ...settings };
    return await serve({ ...ports, entry, oidc, data, given, log: (line) => console.error(line) });
  } catch (error) {
    return complain(reasonOf(error));
  }
}

async function serve(options: LocalCloudOptions): Promise<number> {
  const signal = firstStopSignal(process, { now: () => Date.now() });
  const cloud = new LocalCloud(options);
  try {
    const started = cloud.start();
    if (await Promise.race([started.then(() => false), signal.then(() => true)])) {
      // Wait for a start in progress, so that `stop` leaves nothing behind.
      await started.catch(() => undefined);
      return 0;
    }
    console.log(await started);
    const reason = await Promise.race([signal.then(() => undefined), cloud.ended()]);
    return reason === undefined ? 0 : complain(reason);
  } finally {
    await cloud.stop();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error)
    return `Port ${String(error.port)} is in use. Choose others with PORT and ADMIN_PORT; 0 takes a free one.`;
  return error.message;
}

function complain(reason: string): number {
  console.error(reason);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
