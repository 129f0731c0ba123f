import { type Command, InvalidArgumentError, Option } from 'commander';
import { limits } from '../contracts/generated/limits.ts';
import { pathIdentifier } from '../functions/kernel/identifiers.ts';
import { type OutputForm, outputOption } from './output.ts';
import { filled, withStoreOptions } from './store.ts';
import type { StoreOptions } from './store-settings.ts';

/** What every command that works on a database takes. */
export interface DatabaseOptions extends StoreOptions {
  readonly output: OutputForm;
  /** Of the program, before or behind the name of the command. */
  readonly verbose?: true;
}

export interface TenantOptions extends DatabaseOptions {
  readonly tenant: string;
}

export interface RestoreOptions extends TenantOptions {
  readonly expectedContentHash?: string;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly create?: true;
}

export function tenantOption(): Option {
  return new Option('--tenant <id>', 'the tenant').argParser(tenantId);
}

/** As the routes demand it: a tenant that no request can name was mistyped. */
export function tenantId(text: string): string {
  try {
    if (pathIdentifier(text, '') === text) return text;
  } catch {
    // Told below, in one way.
  }
  throw new InvalidArgumentError('It is no id of a tenant.');
}

export function expectedHashOption(of: string): Option {
  return new Option(
    '--expected-content-hash <hash>',
    `refuses any other ${of} than the one of this hash`,
  ).argParser(contentHash);
}

export function contentHash(text: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('It is not sha256: and 64 lower-case hexadecimal digits.');
}

export function chunkBytesOption(): Option {
  const most = limits.archiveChunkBytesMax;
  return new Option('--chunk-bytes <count>', `content of a chunk before compression, at most ${most}`)
    .argParser((text) => {
      const bytes = Number(text);
      if (/^[0-9]{1,12}$/.test(text) && bytes >= 1 && bytes <= most) return bytes;
      throw new InvalidArgumentError(`It is no whole number from 1 to ${most}.`);
    })
    .default(limits.archiveChunkBytesDefault);
}

/** A command on one tenant of a database. */
export function tenantCommand(command: Command): Command {
  return databaseCommand(command.addOption(tenantOption().makeOptionMandatory()));
}

export function databaseCommand(command: Command): Command {
  return withStoreOptions(command).addOption(outputOption());
}

/** What every restore takes. */
export function restoreCommand(command: Command, of: string): Command {
  return tenantCommand(
    command
      .addOption(expectedHashOption(of))
      .option('--dry-run', 'verifies everything, tells what would be replaced, and changes nothing')
      .option('--yes', 'replaces without asking'),
  ).addOption(createOption());
}

export function createOption(): Option {
  return new Option('--create', 'makes the database where there is none: the file, or the tables in it');
}

export function pathOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(filled).makeOptionMandatory();
}
