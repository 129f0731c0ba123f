import type { ToolMap } from './tool-map.ts';

/** The members that may be null in the result of a task. A name counts if the answers of all tools with tasks allow null for it. */
export function nullableMembers(maps: readonly ToolMap[]): ReadonlySet<string> {
  const all = maps.flatMap(({ nullable = {} }) => Object.entries(nullable));
  const others = new Set(all.filter(([, isNullable]) => !isNullable).map(([name]) => name));
  return new Set(all.map(([name]) => name).filter((name) => !others.has(name)));
}
