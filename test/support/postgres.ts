import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { PostgresStoreOptions } from '../../functions/store/postgres/store.ts';

const provided = inject('postgres');

/** Why tests against PostgreSQL are left out of this run; `undefined` when a server answers. */
export const postgresMissing = 'reason' in provided ? provided.reason : undefined;

export function postgresSocketFolder(): string {
  if ('reason' in provided) throw new Error(provided.reason);
  return provided.socketFolder;
}

/** By any socket folder, so that a test may put a proxy in between. */
export function postgresUrl(socketFolder = postgresSocketFolder()): string {
  return `postgresql:///postgres?host=${encodeURIComponent(socketFolder)}&user=svc`;
}

/** A file with a schema of its own needs no clearing: the server goes with the run. */
export function postgresSchema(): string {
  return `svc_${randomBytes(8).toString('hex')}`;
}

export function postgresOptions(schema = postgresSchema()): PostgresStoreOptions {
  return { connectionString: postgresUrl(), schema, ...machine };
}
