import type { KeyRequest, RecordKey, Write } from './port.ts';

/**
 * Names the keys that are only shown to the decision. A key that is also requested without `unguarded` is guarded.
 * @testonly
 */
export function unguardedNames(keys: readonly KeyRequest[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { key, unguarded } of keys) if (unguarded) names.add(nameOf(key));
  if (names.size > 0) for (const { key, unguarded } of keys) if (!unguarded) names.delete(nameOf(key));
  return names;
}

/** Refuses writes that a decision may not make: a key that was not requested, an unguarded one, or one key twice. */
export function checkWrites(writes: readonly Write[], keys: readonly KeyRequest[]): void {
  const requested = new Set(keys.map(({ key }) => nameOf(key)));
  const unguarded = unguardedNames(keys);
  const written = new Set<string>();
  for (const write of writes) {
    const name = nameOf('put' in write ? write.put.key : write.remove);
    if (!requested.has(name)) throw new Error(`a decision wrote ${name}, which was not requested`);
    if (unguarded.has(name)) throw new Error(`a decision wrote ${name}, which is unguarded`);
    if (written.has(name)) throw new Error(`a decision wrote ${name} twice`);
    written.add(name);
  }
}

function nameOf({ collection, id }: RecordKey): string {
  return `${collection}/${id}`;
}
