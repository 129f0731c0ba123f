import { type Command, InvalidArgumentError, Option } from 'commander';
import { limits } from '../contracts/generated/limits.ts';
import { pathIdentifier } from '../functions/kernel/identifiers.ts';
import { type OutputForm, outputOption } from './output.ts';
import { filled, withStoreOptions } from './store.ts';
import type { StoreOptions } from './store-settings.ts';

/** The options of every command on a database. */
export interface DatabaseOptions extends StoreOptions {
  readonly output: OutputForm;
  /** A program option; accepted before or after the command name. */
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

/** The same check as in the routes: no request could name another tenant id, so it must be a typing error. */
function tenantId(text: string): string {
  try {
    if (pathIdentifier(text, '') === text) return text;
  } catch {
    // The error below covers this case too.
  }
  throw new InvalidArgumentError('It is not a valid tenant id.');
}

export function expectedHashOption(of: string): Option {
  return new Option(
    '--expected-content-hash <hash>',
    `refuses any other ${of} than the one of this hash`,
  ).argParser(contentHash);
}

function contentHash(text: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('It is not sha256: and 64 lower-case hexadecimal digits.');
}

export function chunkBytesOption(): Option {
  const most = limits.archiveChunkBytesMax;
  return new Option('--chunk-bytes <count>', `content of a chunk before compression, at most ${most}`)
    .argParser((text) => {
      const bytes = Number(text);
      if (/^[0-9]{1,12}$/.test(text) && bytes >= 1 && bytes <= most) return bytes;
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
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

/** The options of every restore. */
export function restoreCommand(command: Command, of: string): Command {
  return tenantCommand(
    command
      .addOption(expectedHashOption(of))
      .option(
        '--dry-run',
        'verifies everything, shows the content that would be replaced, and changes nothing',
      )
      .option('--yes', 'replaces without asking'),
  ).addOption(createOption());
}

export function createOption(): Option {
  return new Option('--create', 'creates a missing database: the file, or the tables in it');
}

export function pathOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(filled).makeOptionMandatory();
}
