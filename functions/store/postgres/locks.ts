import { hash } from 'node:crypto';
import type { RecordKey, Scope } from '../port.ts';

/**
 * The numbers of the advisory locks, which are signed and of 64 bits. Two names that meet in one number wait for each
 * other needlessly and are otherwise unharmed; so are other users of the database's advisory locks.
 */
export class Locks {
  readonly #schema: string;

  /** Advisory locks belong to the whole database, so the schema is part of every name. */
  constructor(schema: string) {
    this.#schema = schema;
  }

  schema(): string {
    return this.#number('schema');
  }

  /** Shared by all that change records of the scope; a swap takes it alone when it flips the scope's space. */
  scope(scope: Scope): string {
    return this.#number('scope', scope.kind, scope.name);
  }

  gate(scope: Scope, gate: RecordKey): string {
    return this.#number('gate', scope.kind, scope.name, gate.collection, gate.id);
  }

  #number(...words: readonly string[]): string {
    const digits = hash('sha256', JSON.stringify([this.#schema, ...words]), 'hex').slice(0, 16);
    return BigInt.asIntN(64, BigInt(`0x${digits}`)).toString();
  }
}
