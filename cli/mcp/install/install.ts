import { constants } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { isLoopbackHost } from '../../../functions/http/loopback-host.ts';
import { exists } from '../../init/files.ts';
import { writeTogether } from '../../init/rewrite.ts';
import { exitCodes, printLine, ToolError, warn } from '../../output.ts';
import { addressText, serverAddress } from '../../remote/address.ts';
import { type RemoteOptions, serverOf } from '../../remote.ts';
import type { ClientName } from './client-names.ts';
import { chatgptText, type McpClient, mcpClients, type ServeCommand } from './clients.ts';

export interface InstallOptions {
  readonly write?: true;
  readonly file?: string;
  readonly name: string;
}

/** Prints the entry for the program, or writes it into its file. */
export async function install(client: ClientName, options: InstallOptions, command: Command): Promise<void> {
  const address = addressText(serverAddress(serverOf(command) ?? ''));
  if (client === 'chatgpt') return installForChatgpt(address, options);
  const known = mcpClients[client];
  const entry = entryOf(command, address);
  const file = resolve(options.file ?? known.file(placesHere()));
  if (options.write === true) return write(known, file, options.name, entry);
  printLine(known.text(options.name, entry));
  warn(`${known.title} reads it from ${file}. --write puts it there.`);
}

function installForChatgpt(address: string, { write: isWritten, file }: InstallOptions): void {
  if (isWritten === true || file !== undefined)
    throw new ToolError(
      'ChatGPT has no file of servers: without --write the command prints the steps.',
      exitCodes.usage,
    );
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'https:' || isLoopbackHost(hostname))
    warn(`ChatGPT cannot reach ${address}: give the public HTTPS address of the service with --server.`);
  printLine(chatgptText(address));
}

/** The command line for the program. Files get absolute paths: the program starts the command in a folder of its own. */
function entryOf(command: Command, address: string): ServeCommand {
  const options = command.optsWithGlobals<RemoteOptions>();
  const given = (name: string) => command.getOptionValueSourceWithGlobals(name) === 'cli';
  for (const [name, option] of [
    ['apiKey', '--api-key'],
    ['identityToken', '--identity-token'],
  ] as const)
    if (given(name))
      throw new ToolError(`An entry holds no credential: use ${option}-file.`, exitCodes.usage);
  const args = [resolve(process.argv[1] ?? ''), 'mcp', 'serve', '--server', address];
  const files = [
    ['--api-key-file', options.apiKeyFile],
    ['--identity-token-file', options.identityTokenFile],
  ] as const;
  for (const [option, file] of files) {
    if (file === '-') throw new ToolError(`${option} must name a file.`, exitCodes.usage);
    if (file === undefined) continue;
    args.push(option, resolve(file));
    if (!exists(file)) warn(`${resolve(file)} is not there: svc mcp serve ends until it is.`);
  }
  if (options.apiKeyHeader !== 'X-Svc-Api-Key') args.push('--api-key-header', options.apiKeyHeader);
  if (given('timeout')) args.push('--timeout', String(options.timeout));
  if (options.insecure === true) args.push('--insecure');
  if (files.every(([, file]) => file === undefined))
    warn(
      'The entry names no credential. Where the service needs one, give --identity-token-file or --api-key-file.',
    );
  return { command: process.execPath, args };
}

function placesHere() {
  return { platform: process.platform, home: homedir(), folder: process.cwd(), env: process.env };
}

async function write(client: McpClient, file: string, name: string, entry: ServeCommand): Promise<void> {
  const isThere = exists(file);
  const bytes = isThere ? await bytesOf(file) : Buffer.alloc(0);
  const old = textOf(bytes, file);
  const text = mergedInto(client, file, old, name, entry);
  if (isThere && text === old) {
    warn(`${file} holds the entry already.`);
    return;
  }
  const backup = isThere ? await backedUp(file) : null;
  if (!isThere) await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeTogether([{ path: file, text }]);
  printLine(file);
  if (backup !== null) warn(`The file as it was: ${backup}`);
  warn(client.next);
}

function mergedInto(client: McpClient, file: string, old: string, name: string, entry: ServeCommand): string {
  try {
    return client.merged(old, name, entry);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const words = `${file} was left as it is: ${why}. Put the entry there by hand; without --write the command prints it.`;
    throw new ToolError(words, exitCodes.failed, { cause: error });
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EISDIR' ? 'it is a folder' : `it cannot be read (${code ?? 'unknown'})`;
    throw new ToolError(`${file} was left as it is: ${why}.`, exitCodes.failed, { cause: error });
  }
}

function textOf(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new ToolError(`${file} was left as it is: it is not UTF-8.`, exitCodes.failed, { cause: error });
  }
}

/** Copies to a free name beside the file. A copy has the mode of its file. */
async function backedUp(file: string): Promise<string> {
  for (let number = 0; ; number += 1) {
    const place = number === 0 ? `${file}.bak` : `${file}.${number}.bak`;
    try {
      await copyFile(file, place, constants.COPYFILE_EXCL);
      return place;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number >= 999) throw error;
    }
  }
}
