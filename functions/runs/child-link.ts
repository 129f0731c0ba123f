import { parseJson } from '../kernel/json-text.ts';
import type { RecordData } from '../store/port.ts';
import { CASCADE_INDEX, cascadeKey, childLinkKey, childNameKey } from './records.ts';
import type { ChildLink, ChildOutcome } from './rules/child.ts';

/** The records with which a run keeps its children. They belong to the parent and are removed with it. */

export function linkRecord(link: ChildLink): RecordData {
  const { parentId, childId, waited, cancelWithParent, outcome } = link;
  const key = childLinkKey(parentId, childId);
  // Only children that a cancellation of the parent still reaches are listed for it.
  const indexes: Record<string, string> =
    outcome === null && cancelWithParent ? { [CASCADE_INDEX]: 'active' } : {};
  return {
    key,
    head: { runId: parentId, childId, waited, cancelWithParent, ended: outcome !== null },
    body: outcome === null ? null : JSON.stringify(outcome),
    listing: { group: parentId, id: childId, hidden: false, indexes },
  };
}

/** Reads a link with its body. Without the body, its outcome is `null`. */
export function readLink({ head, body }: RecordData): ChildLink {
  return {
    parentId: String(head.runId),
    childId: String(head.childId),
    waited: head.waited === true,
    cancelWithParent: head.cancelWithParent === true,
    outcome: typeof body === 'string' ? (parseJson(body) as ChildOutcome) : null,
  };
}

export interface ChildName {
  readonly parentId: string;
  readonly writeId: string;
  readonly childId: string;
  readonly requestHash: string;
}

export function nameRecord({ parentId, writeId, childId, requestHash }: ChildName): RecordData {
  const key = childNameKey(parentId, writeId);
  return {
    key,
    head: { runId: parentId, childId, requestHash },
    body: null,
    listing: { group: parentId, id: `write ${key.id}`, hidden: false, indexes: {} },
  };
}

/** Time to cancel the children of a run before another process goes on with it. */
const CASCADE_MS = 60_000;

/** `version` distinguishes two cancellations: one of the request, and one of the end. */
export function cascadeRecord(parentId: string, version: string, at: number): RecordData {
  return {
    key: cascadeKey(parentId),
    head: { runId: parentId, version },
    body: null,
    listing: { group: parentId, id: 'cascade', hidden: false, indexes: {} },
    due: at + CASCADE_MS,
  };
}

/** The cascade as another process goes on with it. */
export function resumedCascade({ key, head }: RecordData, now: number): RecordData {
  return { key, head, due: now + CASCADE_MS };
}
