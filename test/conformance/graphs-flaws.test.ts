import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPath } from '../../functions/collections/rules/path.ts';
import { indexName } from '../../functions/collections/rules/projection.ts';
import { graphs, profiles, startLists } from '../../functions/graph/rules/graph.fixture.ts';
import type { RecordPage } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { changedMoments, type MomentSelection } from '../support/changed-moments.ts';
import { agreesOn } from './graphs.ts';
import { RecordsStage } from './records-stage.ts';

/**
 * The property that both walks agree detects bugs of the walk by indexes: each of these is planted into the answers of
 * its reads.
 */

type Flaw = (query: MomentSelection, found: RecordPage) => RecordPage;

function indexOf(member: string): string {
  return indexName(readPath(`/metadata/${member}`, ''));
}

/** Whether the query goes by the index of a member alone, or together with others. */
function byIndex(query: MomentSelection, member: string): boolean {
  return query.by === 'list' && Object.hasOwn(query.equal ?? {}, indexOf(member));
}

const flaws: readonly (readonly [name: string, flaw: Flaw])[] = [
  [
    'incoming edges are not found',
    (query, found) => (byIndex(query, 'targetId') ? { ...found, records: [] } : found),
  ],
  [
    'the edges of a node come in another order',
    (query, found) =>
      byIndex(query, 'sourceId') ? { ...found, records: found.records.toReversed() } : found,
  ],
  [
    'what is said of an edge is not found',
    (query, found) => (byIndex(query, 'subjectId') ? { ...found, records: [] } : found),
  ],
  [
    'a node is not found, by its key nor by its id',
    (query, found) => {
      if (byIndex(query, 'nodeId')) return { ...found, records: [] };
      return query.by === 'keys' && query.keys.length > 1
        ? { ...found, records: found.records.slice(1) }
        : found;
    },
  ],
];

describe('the walk by indexes and the walk over an export', () => {
  // As many as the plain lane draws in memory.
  const differs = async (flaw: Flaw, numRuns = 500) => {
    const property = fc.asyncProperty(graphs, profiles, startLists, (given, profile, starts) =>
      agreesOn(
        new RecordsStage(changedMoments(new MemoryStore(new MemoryDatabase()), flaw)),
        given,
        profile,
        starts,
        { named: true, strayed: 0 },
      ),
    );
    return (await fc.check(property, { numRuns, seed: 7, endOnFailure: true })).failed;
  };

  test.each(flaws)('differ where %s', async (_, flaw) => {
    expect(await differs(flaw)).toBe(true);
  });

  test('agree where nothing is planted', async () => {
    expect(await differs((_, found) => found, 100)).toBe(false);
  });
});
