import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { installPeer, type Peer } from '../bench/install-peer.ts';
import { furnish, programOf, promisedBy, Reader } from './guides.ts';
import { Program, root } from './program.ts';

/** The recipes of docs/delivery.md, and how they are run with the real frameworks: the lock file names none of them. */

const HANDLER = 'mail.send';
const QUEUE = 'Bearer token-of-the-queue';

const page = await readFile(join(root, 'docs/delivery.md'), 'utf8');
/** The recipes by the file that their first line names. */
const recipes: ReadonlyMap<string, string> = new Map(
  [...page.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(
    ([, file = '', text = '']) => [file, text] as const,
  ),
);

const TRIED = programOf(page, 'sh');
export const SHOWN: readonly string[] = promisedBy(TRIED);

/** What each delivery of `pushedTo` answers, and the result of its run. */
export const DELIVERED: readonly unknown[] = [
  [401, 'The caller is not verified.'],
  [400, 'The header X-Svc-Execution-Dispatch must be 1.'],
  [400, 'The body names no run.'],
  [413, 'The body is larger than 65536 bytes.'],
  [204, ''],
  [204, ''],
  { sent: 'kim' },
];

/** A service, and folders with programs that deliver its runs. */
export class Workshop implements AsyncDisposable {
  readonly #folder: string;
  readonly #reader: Reader;

  private constructor(folder: string, reader: Reader) {
    this.#folder = folder;
    this.#reader = reader;
  }

  static async open(): Promise<Workshop> {
    const reader = await Reader.start([`--ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`]);
    return new Workshop(await mkdtemp(join(tmpdir(), 'svc-frameworks-')), reader);
  }

  /**
   * A folder with the recipes and the packages, or the reason why these cannot be installed. In CI they must be.
   */
  async furnished(
    name: string,
    peers: readonly Peer[],
    files: ReadonlyMap<string, string>,
  ): Promise<{ readonly place: string; readonly installed: string } | { readonly why: string }> {
    const installed = join(this.#folder, name.replaceAll(/\W+/g, '-'));
    const why = peers.length === 0 ? null : await installPeer(installed, ...peers);
    if (why !== null && process.env['CI'] === 'true') throw new Error(why);
    if (why !== null) return { why: `not installed: ${why}` };
    const place = join(installed, 'app');
    await furnish(place);
    for (const [file, text] of [...recipes, ...files]) await writeFile(join(place, file), text);
    return { place, installed: join(installed, 'node_modules') };
  }

  /** Runs a program, which says its address. */
  program(place: string, args: readonly string[], command?: string): Program {
    return new Program(args, {
      cwd: place,
      env: { PORT: '0', SVC_BASE_URL: this.#reader.address, QUEUE_TOKEN: QUEUE.replace('Bearer ', '') },
      ...(command === undefined ? {} : { command }),
    });
  }

  /** What a queue sends: a run, unverified, then requests that are no delivery, then the run, twice. */
  async pushedTo(address: string): Promise<readonly unknown[]> {
    const client = new SvcClient({ baseUrl: this.#reader.address });
    const run = await client.startExecutionRun({ handlerId: HANDLER, payload: 'kim' });
    const its = { 'content-type': 'application/json', 'x-svc-execution-dispatch': '1' };
    const send = async (body: string, headers: object): Promise<unknown> => {
      const init = { method: 'POST', body, headers: { ...its, ...headers } };
      const answer = await fetch(`${address.replace(/\/$/, '')}/tasks/execution`, init);
      return [answer.status, (await answer.text()).trim()];
    };
    const message = JSON.stringify({ runId: run.id, reason: 'run_ready' });
    const answers = [
      await send(message, {}),
      await send(message, { authorization: QUEUE, 'x-svc-execution-dispatch': '2' }),
      await send('{', { authorization: QUEUE }),
      await send(JSON.stringify('x'.repeat(70_000)), { authorization: QUEUE }),
      await send(message, { authorization: QUEUE }),
      await send(message, { authorization: QUEUE }),
    ];
    return [...answers, (await client.getExecutionRun(run.id)).result];
  }

  /** The output of the commands with which the page delivers a run, sent to this program instead. */
  async tried(place: string, address: string): Promise<readonly string[]> {
    const commands = TRIED.replace('http://127.0.0.1:5220', this.#reader.address).replace(
      'http://127.0.0.1:8080',
      address.replace(/\/$/, ''),
    );
    await using running = new Program(['-euc', commands], { cwd: place, command: 'sh', env: {} });
    await running.exit;
    return running.stdout.trim().split('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
