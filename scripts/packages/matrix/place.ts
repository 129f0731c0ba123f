import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An empty folder outside of the project, into which a cell installs packed files. */
export class Place implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Installs the archives as a user would, without a network: none of them has dependencies. */
  static async with(archives: readonly string[]): Promise<Place> {
    const place = new Place(await mkdtemp(join(tmpdir(), 'svc-matrix-')));
    await place.write('package.json', '{"name":"empty","private":true,"type":"module"}');
    if (archives.length > 0) {
      const flags = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
      await place.output('npm', ['install', ...flags, ...archives]);
    }
    return place;
  }

  /** A folder in it, which goes with it. */
  within(name: string): Place {
    return new Place(join(this.folder, name));
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(join(this.folder, name, '..'), { recursive: true });
    await writeFile(join(this.folder, name), text);
  }

  /** The output of a program that ends well. Throws with all that it printed otherwise. */
  async output(
    command: string,
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const { code, stdout, stderr } = await this.outcome(command, words, env);
    if (code !== 0)
      throw new Error(`${command} ${words.join(' ')} ended with ${String(code)}\n${stdout}${stderr}`);
    return stdout;
  }

  async outcome(command: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { PATH = '', HOME = '' } = process.env;
    const options = { cwd: this.folder, env: { PATH, HOME, NO_COLOR: '1', ...env } };
    try {
      return { code: 0, ...(await run(command, words, options)) };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout?: string; stderr?: string };
      if (stdout === undefined || stderr === undefined) throw error;
      return { code, stdout, stderr };
    }
  }

  /** Starts the installed server with a Node, and waits for the line that names its address. */
  async serve(
    node: string,
    words: readonly string[] = ['--Server:Port=0'],
  ): Promise<{ url: string; stop(): Promise<number | null> }> {
    const program = join(this.folder, 'node_modules/@svc-runtime/server/bin/svc-server');
    const child = spawn(node, [program, ...words], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    for await (const line of createInterface({ input: child.stdout })) {
      const [url] = /http:\S+/.exec(line) ?? [];
      if (url === undefined) continue;
      const stop = async () => {
        child.kill('SIGTERM');
        await ended;
        return child.exitCode;
      };
      return { url, stop };
    }
    throw new Error('the server ended before it was ready');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
