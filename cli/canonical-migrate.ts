import { Command } from 'commander';
import { limits } from '../contracts/generated/limits.ts';
import type { CanonicalMigrationInputList } from '../contracts/generated/models.ts';
import { loadValidators } from '../contracts/generated/validators/load.ts';
import type { Validator } from '../contracts/validator.ts';
import { machine } from '../functions/compose/machine.ts';
import { recordMigrations } from '../functions/groups/canonical/migration/migration-operations.ts';
import type { Json, JsonObject } from '../functions/kernel/canonical-json.ts';
import { parseStrictJson } from '../functions/kernel/strict-json.ts';
import { parseUtc } from '../functions/kernel/timestamp.ts';
import { createOption, type DatabaseOptions, databaseCommand, pathOption } from './copy-options.ts';
import { exitCodes, printResult, ToolError } from './output.ts';
import { readJsonBytes } from './snapshot-file.ts';
import { withStore } from './store.ts';

/** The largest batch of a request, with room for the white space of an edited file. */
const FILE_BYTES_MAX = limits.migrationBodyBytesMax * 4;

interface MigrateOptions extends DatabaseOptions {
  readonly file: string;
  readonly create?: true;
}

/** `svc canonical-migrate`: records migrations in the ledger, like the operation of this name. */
export function canonicalMigrateCommand(): Command {
  const command = new Command('canonical-migrate')
    .description('records migrations that a consumer has made to its data: all of a file or none')
    .addOption(pathOption('--file <path>', 'a JSON array of migration receipts; - is standard input'));
  return databaseCommand(command)
    .addOption(createOption())
    .addHelpText('after', examples)
    .action((_, invoked: Command) => migrate(invoked.optsWithGlobals<MigrateOptions>()));
}

async function migrate(options: MigrateOptions): Promise<void> {
  const { file, output } = options;
  const batch = await readBatch(file);
  const use = { verbose: options.verbose === true, create: options.create === true };
  const result = await withStore(options, use, async ({ store, place }) => {
    const outcome = await recordMigrations(() => Promise.resolve(store), batch, machine.clock.now());
    return { database: place, file, ...outcome };
  });
  printResult(output, result);
}

async function readBatch(file: string): Promise<CanonicalMigrationInputList> {
  const bytes = await readJsonBytes(file, process.stdin, FILE_BYTES_MAX);
  const batch = withoutMoments(parseStrictJson(bytes));
  const { requestValidators } = await loadValidators.canonical();
  const validator = requestValidators['applyCanonicalMigrations'] as Validator<CanonicalMigrationInputList>;
  if (!validator(batch)) {
    const { refusalBySchema } = await import('../functions/http/schema-refusal.ts');
    throw await refusalBySchema('CanonicalMigrationInputList', validator.errors, batch);
  }
  return batch;
}

/** A receipt from another ledger carries that ledger's recording time; this ledger sets its own. */
function withoutMoments(value: Json): Json {
  if (!Array.isArray(value)) throw new ToolError('The file must hold a JSON array', exitCodes.failed);
  return value.map((item: Json) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    const { appliedAtUtc, ...migration } = item as JsonObject;
    return typeof appliedAtUtc === 'string' && parseUtc(appliedAtUtc) !== undefined ? migration : item;
  });
}

const examples = `
Each migration has a namespace, an id and a checksum, and may have a description. If the ledger already holds it with the
same checksum, nothing changes; with another checksum the command refuses the whole file (exit code 4). The command
executes no migration: it only records it. One file holds at most ${limits.migrationsPerRequestMax} migrations.

Example of a file:
  [{ "namespace": "billing", "id": "0001-orders", "checksum": "sha256:9f86…", "description": "Orders have a due date" }]

Examples:
  $ svc canonical-migrate --file migrations.json
  $ curl -s https://svc.example.com/canonical/migrations | svc canonical-migrate --file - --canonical-db copy.canonical.sqlite`;
