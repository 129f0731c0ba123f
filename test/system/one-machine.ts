import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readUnit, type Unit, wordsOf } from '../support/systemd-unit.ts';
import { Program, root as project } from './program.ts';

export const embedded = join(project, 'infra/embedded');

export function unitOf(name: string): Unit {
  return readUnit(readFileSync(join(embedded, name), 'utf8'));
}

/** The paths that the units name on a machine; the tests map them into a folder of their own. */
const own = /\/(?:opt|etc|var\/lib|var\/cache)\/svc/g;

/** A machine on which the units are installed, below a folder: each command runs as systemd would run it there. */
export class Machine implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'svc-machine-'));

  constructor() {
    for (const folder of ['opt/svc', 'etc/svc', 'var/lib', 'var/cache']) this.#make(folder, 0o755);
  }

  /** The same path on this machine; texts may hold several. */
  at(text: string): string {
    return text.replace(own, (path) => `${this.root}${path}`);
  }

  /** Unpacks a release, and makes it the one that the units run. */
  install(built: string, version: string): void {
    cpSync(built, this.at(`/opt/svc/${version}`), { recursive: true });
    this.use(version);
  }

  use(version: string): void {
    const link = this.at('/opt/svc/current');
    rmSync(link, { force: true });
    symlinkSync(version, link);
  }

  names(folder: string): string[] {
    return readdirSync(this.at(folder)).sort();
  }

  /** Runs a command of the documentation, `svc …`. */
  svc(line: string): Program {
    const [, ...args] = wordsOf(line).map((word) => this.at(word));
    return new Program(args, { command: this.at('/opt/svc/current/bin/svc'), cwd: this.root });
  }

  /** Runs a command of a unit with its environment, limits and folders, and nothing of the test's. */
  start(name: string, key = 'ExecStart', instance = ''): Program {
    const service = unitOf(name)['Service'] ?? {};
    const first = (setting: string) => service[setting]?.[0] ?? '';
    for (const folder of first('StateDirectory').split(' '))
      this.#make(`var/lib/${folder}`, modeOf(first('StateDirectoryMode')));
    for (const folder of first('CacheDirectory').split(' ').filter(Boolean))
      this.#make(`var/cache/${folder}`, modeOf(first('CacheDirectoryMode')));
    const limit = first('LimitNOFILE') === '' ? '' : `ulimit -n ${first('LimitNOFILE')};`;
    const setting = `umask ${first('UMask')}; ${limit} exec "$@"`;
    const words = wordsOf(first(key), instance).map((word) => this.at(word));
    return new Program(['-c', setting, 'systemd', ...words], {
      command: '/bin/sh',
      cwd: this.at(first('WorkingDirectory') || '/var/lib/svc'),
      env: this.#environment(service),
    });
  }

  #environment(service: Unit[string]): Record<string, string> {
    const given = (service['Environment'] ?? []).flatMap((line) => line.split(' '));
    const pairs = given.map((pair) => this.at(pair).split('=', 2) as [string, string]);
    const file = this.at((service['EnvironmentFile']?.[0] ?? '').replace(/^-/, ''));
    return {
      ...Object.fromEntries(pairs),
      ...(existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}),
    } as Record<string, string>;
  }

  #make(folder: string, mode: number): void {
    const path = join(this.root, folder);
    mkdirSync(path, { recursive: true });
    chmodSync(path, mode);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

function modeOf(text: string): number {
  return Number.parseInt(text || '0755', 8);
}
