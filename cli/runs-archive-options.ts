import { Command, InvalidArgumentError, Option } from 'commander';
import { identifier } from '../functions/kernel/identifiers.ts';
import type { RunsOf } from '../functions/runs/copies/archive-lines.ts';
import type { RunsManifest } from '../functions/runs/copies/archive-manifest.ts';
import { type DatabaseOptions, databaseCommand } from './copy-options.ts';
import { filled } from './store.ts';

export interface RunsOptions extends DatabaseOptions {
  readonly tenant?: string;
  readonly product?: string;
}

/** A command on the runs of a database: of one tenant, of one product, of both, or all. */
export function runsOfCommand(command: Command): Command {
  return artifactOptions(databaseCommand(selectionOptions(command)));
}

export function selectionOptions(command: Command): Command {
  return command
    .addOption(new Option('--tenant <id>', 'only the runs of this tenant').argParser(scopeName))
    .addOption(new Option('--product <id>', 'only the runs of this product').argParser(scopeName));
}

/** Where the bytes of large artifacts are, if not where the settings say. */
export function artifactOptions(command: Command): Command {
  const bucket = 'the bucket of large artifacts, instead of a folder';
  return command
    .addOption(
      new Option(
        '--artifact-directory <path>',
        'the folder of large artifacts; default: as the settings say',
      ).argParser(filled),
    )
    .addOption(new Option('--artifact-bucket <name>', bucket).argParser(filled));
}

/** The same check as in the start of a run. */
export function scopeName(text: string): string {
  try {
    if (identifier(text, '') === text) return text;
  } catch {
    // The error below covers this case too.
  }
  throw new InvalidArgumentError('It is not a valid product or tenant name.');
}

export function runsOf({
  tenant = null,
  product = null,
}: {
  tenant?: string | null;
  product?: string | null;
}): RunsOf {
  return { tenantId: tenant, productId: product };
}

/** The selection in words. */
export function wordsOf({ tenantId, productId }: RunsOf): string {
  const words = [
    ...(tenantId === null ? [] : [`tenant ${tenantId}`]),
    ...(productId === null ? [] : [`product ${productId}`]),
  ];
  return words.length === 0 ? 'all tenants and products' : words.join(', ');
}

export function archiveResult(manifest: RunsManifest) {
  const { counts, chunks, snapshotContentHash, contentHash } = manifest;
  const storedBytes = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    runsOf: wordsOf(manifest),
    counts,
    chunks: chunks.length,
    storedBytes,
    snapshotContentHash,
    contentHash,
  };
}
