import type { ClientCore } from './core.ts';

type ClientClass = new (...options: never[]) => ClientCore;

/** Gives `target` the methods of all groups, so that one client has them beside each other. */
export function flatten(target: ClientClass, groups: readonly ClientClass[]): void {
  for (const { prototype } of groups) {
    const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(prototype);
    Object.defineProperties(target.prototype, methods);
  }
}
