import { loadOperations } from '../../contracts/generated/operations/load.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import type { JobPlugin } from '../jobs/job-plugin.ts';
import type { Upkeep } from '../runs/maintenance/automatic-upkeep.ts';
import type { OwnedCollection } from '../store/ownership.ts';
import { loadGroupModule } from './generated/groups.ts';
import type { ComposedGroup, GroupParts } from './group.ts';

/** The groups of the catalog, in the order of the documentation. */
export const catalogGroups: readonly ComposedGroup[] = (
  Object.keys(loadGroupModule) as (keyof typeof loadGroupModule)[]
).map((name) => ({
  name,
  operations: loadOperations[name],
  validators: loadValidators[name],
  module: loadGroupModule[name],
}));

export async function collectionsOf(groups: readonly ComposedGroup[]): Promise<readonly OwnedCollection[]> {
  const collections = await Promise.all(
    groups.map(async ({ module }) => (await (await module()).collections?.()) ?? []),
  );
  return collections.flat();
}

/** The jobs of all groups: the embedded engine and the hosted worker execute them for every group. */
export async function jobsOf(
  parts: GroupParts,
  groups: readonly ComposedGroup[],
): Promise<readonly JobPlugin[]> {
  const plugins = await Promise.all(
    groups.map(async ({ module }) => (await (await module()).jobs?.(parts)) ?? []),
  );
  return plugins.flat();
}

/** The upkeep of all groups that is not a part of their jobs. */
export async function upkeepOf(
  parts: GroupParts,
  groups: readonly ComposedGroup[],
): Promise<readonly Upkeep[]> {
  const all = await Promise.all(
    groups.map(async ({ module }) => {
      const upkeep = await (await module()).upkeep?.(parts);
      return upkeep === undefined ? [] : [upkeep];
    }),
  );
  return all.flat();
}
