import { expect } from 'vitest';
import { formatUtc } from '../../functions/kernel/timestamp.ts';
import { pruneTraces } from '../../functions/traces/prune-traces.ts';
import { listTraces } from '../../functions/traces/read-traces.ts';
import { readPrune } from '../../functions/traces/rules/prune-request.ts';
import { summarizeTraces } from '../../functions/traces/summarize-traces.ts';
import type { TracesStage } from './traces-stage.ts';

interface Modelled {
  readonly id: string;
  readonly operation: string;
  readonly status: string;
  readonly at: number;
}

const OPERATIONS = ['provider.run', 'retrieval.search', 'rag.ingest_text'] as const;

/** Numbers that look random and are the same in each run. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield Math.floor(state / 65_536);
  }
}

/** Writes and prunes, and compares lists and summaries with those of a plain array after each step. */
export async function agreesWithModel(stage: TracesStage, steps: number): Promise<void> {
  const draws = numbers(steps);
  const below = (max: number) => (draws.next().value ?? 0) % max;
  let model: Modelled[] = [];
  for (let step = 0; step < steps; step += 1) {
    const operation = OPERATIONS[below(OPERATIONS.length)] ?? 'provider.run';
    if (below(4) > 0) {
      const status = `status ${below(3)}`;
      const id = await stage.write({ operation, resultSummary: { status } });
      model = [{ id, operation, status, at: stage.world.now }, ...model];
    } else {
      const [keepLatest, limit] = [below(4), below(5) + 1];
      const olderThan = stage.world.now - below(6);
      const selected = model
        .filter((each) => each.operation === operation && each.at < olderThan)
        .slice(keepLatest, keepLatest + limit)
        .map(({ id }) => id);
      const request = { operation, olderThan: formatUtc(olderThan), keepLatest, limit };
      const { deletedIds } = await pruneTraces(stage.parts, stage.space, readPrune(request));
      expect(deletedIds).toEqual(selected);
      model = model.filter(({ id }) => !selected.includes(id));
    }
  }
  const { traces } = await listTraces(stage.parts, stage.space, { operation: null, limit: 5_000 });
  expect(traces.map(({ id }) => id)).toEqual(model.map(({ id }) => id));
  expect(await summarizeTraces(stage.parts, stage.space, null)).toMatchObject(summaryOf(model));
}

function summaryOf(model: readonly Modelled[]) {
  const statusCounts = countBy(model);
  const operations = OPERATIONS.toSorted().flatMap((operation) => {
    const own = model.filter((each) => each.operation === operation);
    const [first, latest] = [own.at(-1), own[0]];
    if (first === undefined || latest === undefined) return [];
    const times = { firstCreatedAt: formatUtc(first.at), latestCreatedAt: formatUtc(latest.at) };
    return [{ operation, count: own.length, ...times, statusCounts: countBy(own) }];
  });
  return { totalCount: model.length, statusCounts, operations };
}

function countBy(traces: readonly Modelled[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of traces) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
