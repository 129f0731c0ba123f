import type { Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { selectGroup } from './search-write.ts';
import { liveSpace } from './space.ts';

/** The number of a group; `undefined`: no record of it has a search entry. */
export function groupNumber(
  connection: Connection,
  scope: Scope,
  { collection, group }: { readonly collection: string; readonly group: string },
): number | undefined {
  const space = liveSpace(connection, scope);
  if (space === undefined) return undefined;
  return connection.get<{ number: number }>(selectGroup, space, collection, group)?.number;
}
