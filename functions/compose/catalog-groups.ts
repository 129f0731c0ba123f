import { loadOperations } from '../../contracts/generated/operations/load.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import type { Collection } from '../store/port.ts';
import { loadGroupModule } from './generated/groups.ts';
import type { ComposedGroup } from './group.ts';

/** The groups of the catalog, in the order of the documentation. */
export const catalogGroups: readonly ComposedGroup[] = (
  Object.keys(loadGroupModule) as (keyof typeof loadGroupModule)[]
).map((name) => ({
  name,
  operations: loadOperations[name],
  validators: loadValidators[name],
  module: loadGroupModule[name],
}));

export async function collectionsOf(groups: readonly ComposedGroup[]): Promise<readonly Collection[]> {
  const modules = await Promise.all(groups.map(({ module }) => module()));
  return (await Promise.all(modules.map((module) => module.collections?.() ?? []))).flat();
}
