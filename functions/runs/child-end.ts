import type { KeyRequest, LoadedRecords, RecordKey, Write } from '../store/port.ts';
import { cascadeRecord, linkRecord, readLink } from './child-link.ts';
import { cascadeKey, childLinkKey, readRun, runKey } from './records.ts';
import { cascadesIn, endsIn, outcomeOfRun, wakeParent } from './rules/child.ts';
import type { DueOptions } from './rules/due.ts';
import type { Change, Run } from './run.ts';

/** The records beside a run that a change of it writes: the link of its parent, the parent itself, and a cascade. */
export interface Kin {
  readonly writes: readonly Write[];
  /** The parent that was parked on the run, and its change. */
  readonly woken: { readonly before: Run; readonly change: Change } | null;
  /** Whether children of the run are to be cancelled. */
  readonly cascades: boolean;
}

interface KinCase {
  readonly before: Run | undefined;
  readonly run: Run;
  readonly found: LoadedRecords;
  /** Whether the transaction has requested the key. */
  readonly has: (key: RecordKey) => boolean;
  readonly at: number;
  readonly options: DueOptions;
}

const NONE: Kin = { writes: [], woken: null, cascades: false };

/**
 * The writes beside the change of a run, or the keys that the transaction lacks for them. Most runs have no parent and no children,
 * and a parent is seldom parked on the child that ends, so the keys are requested only where they are needed.
 */
export function kinOf(kin: KinCase): Kin | { readonly missing: readonly KeyRequest[] } {
  const { before, run, has, at } = kin;
  const ended = endsIn(before, run) && run.parentId !== undefined ? endOfChild(kin, run.parentId) : NONE;
  if ('missing' in ended) return ended;
  if (!cascadesIn(before, run)) return ended;
  const key = cascadeKey(run.id);
  if (!has(key)) return { missing: [{ key }] };
  return {
    ...ended,
    writes: [...ended.writes, { put: cascadeRecord(run.id, run.lastSequenceId, at) }],
    cascades: true,
  };
}

function endOfChild(
  { run, found, has, at, options }: KinCase,
  parentId: string,
): Kin | { readonly missing: readonly KeyRequest[] } {
  const key = childLinkKey(parentId, run.id);
  if (!has(key)) return { missing: [{ key }] };
  const record = found.get(key);
  // The parent has been removed, and its links with it.
  if (record === undefined) return NONE;
  const link = readLink(record);
  const writes: Write[] = [{ put: linkRecord({ ...link, outcome: outcomeOfRun(run) }) }];
  if (!link.waited) return { ...NONE, writes };
  const parentKey = runKey(parentId);
  if (!has(parentKey)) return { missing: [{ key: parentKey, view: 'body' }] };
  const parent = found.get(parentKey);
  if (parent === undefined) return { ...NONE, writes };
  const before = readRun(parent, parentId);
  const change = wakeParent(before, run.id, at, options);
  return { ...NONE, writes, woken: change === null ? null : { before, change } };
}
