import { limits } from '../../../../contracts/generated/limits.ts';
import type {
  CanonicalMigrationInput,
  CanonicalMigrationInputList,
} from '../../../../contracts/generated/models.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import { checkProse, identifier } from '../../../kernel/identifiers.ts';

/** A migration to record. */
export interface Migration {
  readonly namespace: string;
  readonly id: string;
  readonly checksum: string;
  readonly description: string | null;
  /** Its place in the request, for the pointer of a refusal. */
  readonly pointer: string;
}

/**
 * The migrations of a batch, each once. A repeated migration with the same checksum counts once, with its first description, as in
 * two batches. A repeated migration with another checksum is refused, even if the ledger is empty.
 *
 * Throws `validation_failed`, `limit_exceeded` or `duplicate_in_request`, each naming the member.
 */
export function readMigrations(batch: CanonicalMigrationInputList): Migration[] {
  if (batch.length > limits.migrationsPerRequestMax) {
    const most = limits.migrationsPerRequestMax;
    throw invalidMember('', `a batch holds at most ${most} migrations`, 'limit_exceeded');
  }
  const migrations = new Map<string, Migration>();
  for (const [n, input] of batch.entries()) {
    const migration = readMigration(input, `/${n}`);
    const name = JSON.stringify([migration.namespace, migration.id]);
    const first = migrations.get(name);
    if (first === undefined) migrations.set(name, migration);
    else if (first.checksum !== migration.checksum) {
      const detail = 'the same migration occurs twice in one batch with different checksums';
      throw invalidMember(`${migration.pointer}/checksum`, detail, 'duplicate_in_request');
    }
  }
  return [...migrations.values()];
}

function readMigration(input: CanonicalMigrationInput, pointer: string): Migration {
  return {
    namespace: identifier(input.namespace, `${pointer}/namespace`),
    id: identifier(input.id, `${pointer}/id`),
    checksum: identifier(input.checksum, `${pointer}/checksum`),
    description: readDescription(input.description, `${pointer}/description`),
    pointer,
  };
}

function readDescription(text: string | null | undefined, pointer: string): string | null {
  const description = text?.trim() || null;
  // A description may have line breaks, but no other control characters.
  if (description !== null) checkProse(description, pointer);
  return description;
}
