import { join, resolve } from 'node:path';
import type { Settings } from '../config/table.ts';

/** The path of the database file of the provider `sqlite`. */
export function databasePath({ service, canonicalStore }: Settings): string {
  return resolve(canonicalStore.databasePath ?? join(service.dataDirectory, 'svc.canonical.sqlite'));
}
