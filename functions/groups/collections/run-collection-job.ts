import { boundTo } from '../../collections/bound-collections.ts';
import type { RecordParts } from '../../collections/parts.ts';
import { createCollection, removeCollection } from '../../collections/pointers.ts';
import { readCollection } from '../../collections/read-policy.ts';
import type { Incarnation } from '../../collections/rules/incarnation.ts';
import { type PolicyRequest, readPolicy } from '../../collections/rules/policy.ts';
import type { JobContext } from '../../jobs/job-plugin.ts';
import type { Json } from '../../kernel/canonical-json.ts';

/** Returns the policy as it was first stored. */
export async function createByJob(records: RecordParts, context: JobContext): Promise<Json> {
  const { payload, job } = context;
  const { policy } = payload as unknown as { readonly policy: PolicyRequest };
  await context.decide();
  const collection = await createCollection(records, job.space, readPolicy(policy, '/policy'));
  return collection.policy as unknown as Json;
}

/** Deletes the collection that existed at the admission or the first execution. A newer collection of the same name stays. */
export async function deleteByJob(records: RecordParts, context: JobContext): Promise<undefined> {
  const { collection } = context.payload as unknown as { readonly collection: string };
  const { space } = context.job;
  const incarnation = await targetOf(records, context, collection);
  if (incarnation === null) return;
  await context.decide();
  await removeCollection(records, space, collection, incarnation);
}

async function targetOf(
  records: RecordParts,
  context: JobContext,
  collection: string,
): Promise<Incarnation | null> {
  const earlier = context.attempt === 1 ? null : await context.readCheckpoint(TARGET);
  if (earlier !== null) return (earlier.content as unknown as Target).incarnation;
  const { space, collections: bound = {} } = context.job;
  const current = await readCollection(records, space, collection);
  const isOther =
    Object.hasOwn(bound, collection) &&
    (await boundTo(records, space, [collection]))[collection] !== bound[collection];
  const target: Target = { incarnation: isOther ? null : (current?.incarnation ?? null) };
  await context.writeCheckpoint(TARGET, { ...target });
  return target.incarnation;
}

const TARGET = 'target';

interface Target {
  readonly incarnation: Incarnation | null;
}
