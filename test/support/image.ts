import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Program } from '../system/program.ts';

/**
 * Builds the image and runs it without a container engine: `buildah` of Debian reads the Dockerfile, and namespaces of the kernel
 * stand for those that an engine makes. The base is made of Debian packages and this Node; it has no shell.
 */

const root = resolve(import.meta.dirname, '../..');

const isThere = (program: string, ...words: readonly string[]) => spawnSync(program, words).status === 0;

function missingPart(): string | undefined {
  if (!isThere('buildah', '--version')) return 'no buildah in PATH';
  if (!isThere('mmdebstrap', '--version')) return 'no mmdebstrap in PATH';
  if (!isThere('unshare', '--mount', '--pid', '--fork', 'true')) return 'this user may not make namespaces';
  return undefined;
}

const missing = process.env['CI'] === undefined ? missingPart() : undefined;
/** Why tests with the image are left out of this run; `undefined` where they run. A run that must be complete has all parts. */
export const imageMissing = missing === undefined ? undefined : `(skipped: ${missing})`;

/** What an engine reads of an image. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly StopSignal: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

interface DescribedImage {
  readonly Docker: { readonly config: ImageConfig };
}

export interface RunOptions {
  /** The program in place of the entry point. */
  readonly entrypoint?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of this machine by their places in the container; `:ro` after the place allows no writes. */
  readonly volumes?: Readonly<Record<string, string>>;
  /** Default: the user of the image. */
  readonly user?: string;
}

export class Image {
  readonly config: ImageConfig;
  readonly #folder: string;
  readonly #root: string;

  private constructor(folder: string, tag: string) {
    this.#folder = folder;
    const described = JSON.parse(this.#buildah('inspect', '--type', 'image', tag)) as DescribedImage;
    this.config = described.Docker.config;
    this.#root = this.#buildah('mount', this.#buildah('from', tag).trim()).trim();
  }

  /** Builds the image of the archive. All that is made lies in the folder. */
  static build(folder: string, archive: string, version: string): Image {
    const base = 'localhost/base';
    makeBase(join(folder, 'base'));
    writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY base /\n');
    buildah(folder, 'bud', ...buildFlags, '--tag', base, '--file', join(folder, 'Dockerfile'), folder);
    const named = { NODE_IMAGE: base, PACKAGE: basename(archive), VERSION: version };
    const given = Object.entries(named).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const file = join(root, 'infra/image/Dockerfile');
    buildah(
      folder,
      'bud',
      ...buildFlags,
      ...given,
      '--tag',
      'localhost/svc',
      '--file',
      file,
      dirname(archive),
    );
    return new Image(folder, 'localhost/svc');
  }

  #buildah(...words: readonly string[]): string {
    return buildah(this.#folder, ...words);
  }

  /** The arguments of an engine for a run with a read-only root, a tmpfs at `/tmp` and the network of this machine. */
  run({
    entrypoint,
    args = [],
    env = {},
    volumes = {},
    user = this.config.User,
  }: RunOptions = {}): Container {
    const [uid = '', gid = ''] = user.split(':');
    const command = entrypoint === undefined ? [...this.config.Entrypoint, ...args] : [entrypoint, ...args];
    const mounts = Object.entries(volumes).map(([place, source]) => {
      const [path = '', mode = 'rw'] = place.split(':');
      return `mkdir -p "$root${path}"; mount --bind '${source}' "$root${path}"; mount -o 'remount,bind,${mode}' "$root${path}"`;
    });
    const script = [
      'root=$1; shift',
      'mount --bind "$root" "$root"',
      'mount --rbind /dev "$root/dev"',
      'mount -t proc proc "$root/proc"',
      'mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"',
      ...mounts,
      'mount -o remount,bind,ro "$root"',
      'exec "$@"',
    ].join('\n');
    const variables = [...this.config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
    const inside = [
      `--root=${this.#root}`,
      `--wd=${this.config.WorkingDir}`,
      `--setgid=${gid}`,
      `--setuid=${uid}`,
    ];
    const exec = ['env', '-i', ...variables, 'unshare', ...inside, ...command];
    const outer = [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-euc',
      script,
      'sh',
      this.#root,
      ...exec,
    ];
    return new Container(outer, { command: 'unshare' });
  }
}

/** A run of the image. Its first process is a child of the one that this process has started. */
export class Container extends Program {
  /** The id of the first process, outside of the container. */
  get pid(): number {
    const outer = String(this.process.pid);
    const [child] = readFileSync(`/proc/${outer}/task/${outer}/children`, 'utf8').split(' ');
    if (child === undefined || child === '') throw new Error('The container has no first process yet');
    return Number(child);
  }

  /** The signal that an engine sends to the first process. */
  override signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** The kernel forgets with the change of the user that the first process ends with the one outside. */
  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.signal('SIGKILL');
    await this.exit;
  }
}

const buildFlags = ['--isolation', 'chroot', '--format', 'docker', '--quiet'];

function buildah(folder: string, ...words: readonly string[]): string {
  const place = [
    '--root',
    join(folder, 'store'),
    '--runroot',
    join(folder, 'run'),
    '--storage-driver',
    'vfs',
  ];
  return execFileSync('buildah', [...place, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The files of a base image: the libraries that Node needs, `env` for the first line of a program, and Node. */
function makeBase(folder: string): void {
  const words = ['--quiet', '--variant=extract', '--include=libstdc++6,coreutils', 'bookworm', folder];
  execFileSync('mmdebstrap', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
  const node = join(folder, 'usr/local/bin/node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
}
