import { InvalidArgumentError, Option } from 'commander';
import type { SpaceManifest } from '../functions/collections/copies/archive-manifest.ts';
import { identifier } from '../functions/kernel/identifiers.ts';

export function spaceOption(description: string): Option {
  return new Option('--space <name>', description).argParser(spaceName);
}

/** The same check as in the access policies: no caller could have another space. */
function spaceName(text: string): string {
  try {
    if (identifier(text, '') === text) return text;
  } catch {
    // The error below covers this case too.
  }
  throw new InvalidArgumentError('It is not a valid space name.');
}

export function archiveResult({ counts, chunks, snapshotContentHash, contentHash }: SpaceManifest) {
  const storedBytes = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
  return { counts, chunks: chunks.length, storedBytes, snapshotContentHash, contentHash };
}

export function expected({ expectedContentHash }: { readonly expectedContentHash?: string }) {
  return expectedContentHash === undefined ? {} : { expectedContentHash };
}
