import type { IncomingMessage } from 'node:http';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ByteBlocks } from '../functions/kernel/byte-blocks.ts';
import { release } from '../functions/release.ts';
import { exitCodes, ToolError, warn } from './output.ts';
import { isReadableOnTheWay, localServer, serverAddress, targetOf } from './remote/address.ts';
import { apiKeyKind, identityTokenKind, readCredential } from './remote/credentials.ts';
import { exchange, type RemoteRequest } from './remote/exchange.ts';
import { failureOf } from './remote/failure.ts';
import { answerHead, type Redact, redactorOf, requestHead } from './remote/heads.ts';
import type { Inputs } from './remote/inputs.ts';
import { exitCodeOf, refusalLines } from './remote/problem.ts';
import { Refused } from './remote/refused.ts';

/** The values of `remoteOptions` and of the program's own `--verbose`. */
export interface RemoteOptions {
  readonly server?: string;
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly apiKeyHeader: string;
  readonly identityToken?: string;
  readonly identityTokenFile?: string;
  readonly timeout: number;
  readonly insecure?: true;
  readonly verbose?: true;
}

/** The options of a command that calls a running service. */
export function remoteOptions(server: 'required' | 'local'): Option[] {
  const [address, alias] = serverOptions();
  return [
    server === 'local' ? address.default(localServer) : address,
    alias,
    new Option(
      '--api-key <key>',
      'API key; others on this machine can see it there, --api-key-file is safer',
    ).env('SVC_API_KEY'),
    new Option('--api-key-file <file>', 'file with the API key; - is standard input'),
    new Option('--api-key-header <name>', 'header that the service reads the key from')
      .env('SVC_API_KEY_HEADER')
      .default('X-Svc-Api-Key'),
    new Option(
      '--identity-token <token>',
      'OIDC identity token; others on this machine can see it there',
    ).env('SVC_IDENTITY_TOKEN'),
    new Option('--identity-token-file <file>', 'file with the identity token; - is standard input'),
    timeoutOption(120),
    new Option('--insecure', 'send credentials over plain HTTP to other machines'),
  ];
}

/**
 * `--server`, and `--base-url`, as the clients name the same address. The clients read `SVC_BASE_URL` and `SVC_SERVER`, and so
 * does the tool.
 */
export function serverOptions(description = 'address of the service'): [server: Option, alias: Option] {
  const address = new Option('--server <url>', description).env('SVC_SERVER');
  const alias = new Option('--base-url <url>', 'the same, as the clients name it').env('SVC_BASE_URL');
  return [address, alias.hideHelp()];
}

/** The address that a command was given: an option before a variable, and the default last. */
export function serverOf(command: Command): string | undefined {
  const { server, baseUrl } = command.optsWithGlobals<{ server?: string; baseUrl?: string }>();
  const sourceOf = (name: string) => command.getOptionValueSourceWithGlobals(name);
  if (sourceOf('server') === 'cli' && sourceOf('baseUrl') === 'cli')
    throw new ToolError('--server and --base-url are the same option.', exitCodes.usage);
  const isOwn =
    sourceOf('server') === 'cli' || (sourceOf('server') === 'env' && sourceOf('baseUrl') !== 'cli');
  return isOwn ? server : baseUrl || server;
}

/** `--timeout`, in seconds. */
export function timeoutOption(seconds: number): Option {
  return new Option('--timeout <seconds>', 'how long the service may say nothing')
    .argParser((text) => {
      const value = Number(text);
      if (!/^\d{1,5}(\.\d{1,3})?$/.test(text) || value === 0)
        throw new InvalidArgumentError('It must be a number of seconds.');
      return value;
    })
    .default(seconds);
}

/** The connection to the service that the options name. */
export class Remote {
  readonly server: URL;
  /** Removes credentials from everything printed besides the answer. */
  readonly redact: Redact;
  /** Whether the connection has a credential. */
  readonly hasCredentials: boolean;
  readonly #credentials: readonly (readonly [string, string])[];
  readonly #options: Pick<RemoteOptions, 'timeout' | 'insecure' | 'verbose'>;

  constructor(
    server: URL,
    credentials: readonly (readonly [header: string, value: string])[],
    options: Pick<RemoteOptions, 'timeout' | 'insecure' | 'verbose'>,
  ) {
    this.server = server;
    this.#credentials = credentials;
    this.#options = options;
    this.hasCredentials = credentials.length > 0;
    this.redact = redactorOf(credentials.map(([, value]) => value.replace(/^Bearer /, '')));
  }

  /**
   * Sends the request once, with the credentials, and resolves with the head of the answer; `bodyOf` or a pipe reads
   * its body.
   */
  async send(request: RemoteRequest, signal?: AbortSignal): Promise<IncomingMessage> {
    const { timeout, insecure, verbose } = this.#options;
    const own = [
      ['User-Agent', `${release.service}/${release.version}`],
      ['Accept', '*/*'],
    ] as const;
    const headers = [...own, ...this.#credentials, ...request.headers];
    const complete = { ...request, headers };
    if (verbose)
      this.#print(requestHead(this.server, complete, targetOf(this.server, request.path), this.redact));
    const answer = await exchange(complete, {
      server: this.server,
      silenceMaxMs: timeout * 1000,
      signal,
      thisMachineOnly: this.hasCredentials && this.server.protocol === 'http:' && insecure !== true,
    });
    if (verbose) this.#print(answerHead(answer, this.redact));
    return answer;
  }

  /** The chunks of an answer's body; a broken connection throws an error in words for people. */
  async *chunksOf(answer: IncomingMessage): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer) yield chunk as Buffer;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const cause = (error as { silent?: boolean }).silent === true ? 'silence' : undefined;
      throw failureOf(error, { server: this.server, cause, sent: true });
    }
  }

  /** The whole body; throws if it is larger than `bytesMax`. */
  async bodyOf(answer: IncomingMessage, bytesMax = 256 * 1024 * 1024): Promise<Buffer> {
    const blocks = new ByteBlocks();
    for await (const chunk of this.chunksOf(answer)) {
      blocks.add(chunk);
      if (blocks.size > bytesMax)
        throw new ToolError('The answer is too large to be shown; give --out FILE.');
    }
    return blocks.whole();
  }

  /** Prints an error answer on standard error and returns the exit code. `forbidden` explains a 403. */
  async refuse(answer: IncomingMessage, read?: Buffer, forbidden: readonly string[] = []): Promise<number> {
    const { message, exitCode } = await this.refusal(answer, read, forbidden);
    warn(message);
    return exitCode;
  }

  /** An error answer as the failure of a command. */
  async refusal(
    answer: IncomingMessage,
    read?: Buffer,
    forbidden: readonly string[] = [],
  ): Promise<ToolError> {
    const status = answer.statusCode ?? 0;
    const body = (read ?? (await this.bodyOf(answer))).toString('utf8');
    const location = redirectOrigin(answer.headers.location, this.server);
    const refusal = {
      status,
      reason: answer.statusMessage ?? '',
      mediaType: mediaTypeOf(answer),
      location,
      body,
    };
    const lines = [...refusalLines(refusal, this.redact)];
    if (status === 403 && !body.includes('"product_policy_violation"'))
      lines.push(...forbidden.map((line) => this.redact(line)));
    if (status === 401 && !this.hasCredentials) {
      lines.push(
        '  No credential was given: --api-key-file, --identity-token-file, SVC_API_KEY, SVC_IDENTITY_TOKEN.',
      );
    }
    return new Refused(lines.join('\n'), exitCodeOf(status), status, answer.headers['retry-after']);
  }

  #print(lines: readonly string[]): void {
    for (const line of lines) warn(line);
  }
}

/**
 * The connection that the options name. The key has its own header. The token goes into `X-Serverless-Authorization`,
 * which the service always reads; with keys in use, `Authorization` is for the key or the platform.
 */
export async function connect(command: Command, inputs: Inputs): Promise<Remote> {
  const options = command.optsWithGlobals<RemoteOptions>();
  const named = serverOf(command);
  if (named === undefined)
    throw new ToolError("required option '--server <url>' not specified", exitCodes.usage);
  const server = serverAddress(named);
  const onCommandLine = (name: string) => command.getOptionValueSourceWithGlobals(name) === 'cli';
  const { apiKey, apiKeyFile, identityToken, identityTokenFile } = options;
  const key = await readCredential(
    apiKeyKind,
    { text: apiKey, file: apiKeyFile, onCommandLine: onCommandLine('apiKey') },
    inputs,
  );
  const token = await readCredential(
    identityTokenKind,
    { text: identityToken, file: identityTokenFile, onCommandLine: onCommandLine('identityToken') },
    inputs,
  );
  const credentials: [string, string][] = [];
  if (key !== undefined) credentials.push([keyHeader(options.apiKeyHeader), key]);
  if (token !== undefined) credentials.push(['X-Serverless-Authorization', `Bearer ${token}`]);
  if (credentials.length > 0 && isReadableOnTheWay(server) && options.insecure !== true) {
    const why = `${server.origin} is plain HTTP to another machine: a credential sent there can be read on the way.`;
    throw new ToolError(`${why} Use https://, or --insecure where the way is safe.`, exitCodes.usage);
  }
  return new Remote(server, credentials, options);
}

function keyHeader(name: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(name)) return name;
  throw new ToolError('--api-key-header is not the name of a header.', exitCodes.usage);
}

/** Without parameters, in lower case; '' if there is none. */
export function mediaTypeOf(answer: IncomingMessage): string {
  return (answer.headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();
}

/** The origin of a redirect's target. Its path and query may hold credentials. */
function redirectOrigin(location: string | undefined, server: URL): string | undefined {
  if (location === undefined || !URL.canParse(location, server.href)) return undefined;
  return new URL(location, server).origin;
}
