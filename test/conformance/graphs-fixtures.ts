import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { envelopeOf } from '../../functions/graph/rules/graph.fixture.ts';
import { readProfile, type TraversalProfile } from '../../functions/graph/rules/profile.ts';
import { graphRecords } from '../../functions/graph/rules/record-map.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { RecordsStage } from './records-stage.ts';

export const node = (id: string, more: object = {}) => ({ id, type: 'x', ...more });
export const edge = (id: string, sourceId: string, targetId: string) => ({
  id,
  sourceId,
  targetId,
  predicate: 'p',
});

/** Writes a graph without a job; `idOf` gives its records other ids than an import does. */
export async function put(
  stage: RecordsStage,
  name: string,
  given: object,
  idOf = ({ id }: { readonly id: string }) => id,
): Promise<void> {
  const records = [...graphRecords(envelopeOf(given))].map((record) => ({ ...record, id: idOf(record) }));
  const items = records.map((record) => ({ text: JSON.stringify(record) }));
  for (let at = 0; at < items.length; ) {
    const some = items.slice(at, at + 100);
    at += (await writeChunk(stage.parts, stage.space, { name }, some, { continueOnError: false })).length;
  }
}

export const walk = (profile: object): TraversalProfile => readProfile(profile as JsonObject);
