import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCache } from '../support/compile-cache.ts';
import { Program, root } from './program.ts';

/** The snippets of a guide, and how they are run. */

export const guides = join(root, 'docs/guides');

export type Language = 'ts' | 'python' | 'sh';

/** The snippets of one language as one program, in their order; `''` where there are none. */
export function programOf(guide: string, language: Language): string {
  const blocks = guide.matchAll(/^```([a-z]*)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, tag, text = '']) => (tag === language ? [text] : [])).join('\n');
}

/** The flags with which a guide starts the service. */
export function flagsOf(guide: string): string[] {
  return [...guide.matchAll(/`(--[A-Z][^`\s]*)`/g)].map(([, flag = '']) => flag);
}

/** The output that a program's comments announce: a line for each `=>`. */
export function promisedBy(program: string): string[] {
  return [...program.matchAll(/(?:\/\/|#) => (.*)$/gm)].map(([, line = '']) => line.trimEnd());
}

export interface Run {
  readonly code: number | null;
  readonly stderr: string;
  readonly lines: readonly string[];
}

/**
 * The folder of a reader who follows a guide: a service of its own runs in it, so neither its data nor the operator tool's
 * belong to another test.
 */
export class Reader implements AsyncDisposable {
  readonly folder: string;
  readonly address: string;
  readonly #server: Program;

  private constructor(folder: string, server: Program, address: string) {
    this.folder = folder;
    this.#server = server;
    this.address = address;
  }

  /** `flags`: what the guide says that the service is started with. */
  static async start(flags: readonly string[] = []): Promise<Reader> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-guide-'));
    await furnish(folder);
    const server = new Program([join(root, 'functions/embedded.ts'), ...flags], {
      cwd: folder,
      env: { PORT: '0', METADATA_SERVER_DETECTION: 'none' },
    });
    const [address] = await server.says(/http:\/\/[^\s"]+/);
    return new Reader(folder, server, address);
  }

  async run(program: string, language: Language): Promise<Run> {
    const file = join(this.folder, `guide.${language}`);
    await writeFile(file, program);
    await using running = new Program(language === 'sh' ? ['-eu', file] : [file], {
      cwd: this.folder,
      env: {
        PATH: `${join(this.folder, 'bin')}:${process.env.PATH}`,
        PYTHONPATH: join(root, 'sdk/python/src'),
        PYTHONDONTWRITEBYTECODE: '1',
        SVC_BASE_URL: this.address,
      },
      ...{ ts: {}, python: { command: 'python3' }, sh: { command: 'sh' } }[language],
    });
    const { code } = await running.exit;
    const { stdout, stderr } = running;
    return { code, stderr, lines: stdout === '' ? [] : stdout.replace(/\n$/, '').split('\n') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The errors of the compiler in TypeScript programs; `''` where there are none. */
export async function compilerOn(programs: readonly string[]): Promise<string> {
  return compilerOnFiles(new Map(programs.map((program, n) => [`guide-${n}.ts`, program])));
}

/** The same for the files of one folder, by name. */
export async function compilerOnFiles(programs: ReadonlyMap<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-guide-types-'));
  try {
    await furnish(folder);
    await Promise.all([...programs].map(([name, program]) => writeFile(join(folder, name), program)));
    const compilerOptions = { typeRoots: [join(root, 'node_modules/@types')] };
    const files = [...programs.keys()];
    const settings = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    await using compiler = new Program([join(root, 'node_modules/typescript/bin/tsc')], { cwd: folder });
    const { code } = await compiler.exit;
    return code === 0 ? '' : `${compiler.stdout}${compiler.stderr}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function toolScript(): string {
  const program = `'${process.execPath}' '${join(root, 'cli/main.ts')}'`;
  const settings = Object.entries(compileCache).map(([name, value]) => `${name}='${value}'`);
  return `#!/bin/sh\n${settings.join(' ')} exec ${program} "$@"\n`;
}

/** The parts that the guides require: the client, the folder of the dispatcher, the tool. */
export async function furnish(folder: string): Promise<void> {
  const client = join(folder, 'node_modules/@svc-runtime/client');
  await Promise.all([client, join(folder, 'bin')].map((path) => mkdir(path, { recursive: true })));
  const description = JSON.parse(await readFile(join(root, 'sdk/typescript/package.json'), 'utf8')) as object;
  const exports = {
    '.': './src/index.ts',
    './replay': './src/worker/steps/replay.ts',
    './worker': './src/worker/index.ts',
    './web': './src/worker/web.ts',
  };
  const source = { ...description, exports };
  await Promise.all([
    writeFile(join(folder, 'package.json'), '{ "type": "module" }'),
    writeFile(join(client, 'package.json'), JSON.stringify(source)),
    symlink(join(root, 'sdk/typescript/src'), join(client, 'src')),
    symlink(join(root, 'dispatcher'), join(folder, 'dispatcher')),
    writeFile(join(folder, 'bin/svc'), toolScript(), { mode: 0o755 }),
  ]);
}

/** Why Python's snippets cannot run here; `undefined` where they can. */
export async function whyNoPython(): Promise<string | undefined> {
  const asked = new Program(['-c', 'import sys; print("from 3.10:", sys.version_info >= (3, 10))'], {
    command: 'python3',
  });
  const found = await new Promise<boolean>((settle) => {
    asked.process.once('error', () => settle(false));
    asked.process.once('spawn', () => settle(true));
  });
  if (!found) return 'there is no python3';
  await asked.exit;
  return asked.stdout.includes('True') ? undefined : 'python3 is older than 3.10, or does not start';
}
