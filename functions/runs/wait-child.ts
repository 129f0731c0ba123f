import type { KeyRequest, LoadedRecords, Write } from '../store/port.ts';
import { changeRun } from './change-run.ts';
import { linkRecord, readLink } from './child-link.ts';
import { type Held, present } from './held.ts';
import { findValues } from './read-runs.ts';
import { childLinkKey, readRun, runKey } from './records.ts';
import type { WriteName } from './rules/answered.ts';
import { type ChildLink, type ChildOutcome, outcomeOfRun } from './rules/child.ts';
import { waitForChild } from './rules/child-wait.ts';
import { NULL_VALUE, type Run, type WaitOutcome } from './run.ts';
import type { Runtime } from './runtime.ts';

export interface ChildWait {
  readonly name: string;
  /** The child. */
  readonly runId: string;
  /** The deadline; `null` without one. */
  readonly dueAt: number | null;
  readonly write: WriteName | null;
}

export interface ChildWaited {
  readonly run: Run;
  /** `waits`: its lease has ended. Otherwise how the wait ended. */
  readonly answer: 'waits' | WaitOutcome | ChildEnd;
}

export interface ChildEnd {
  readonly runId: string;
  readonly name: string;
  /** `null`: the run has no such child. */
  readonly child: ChildOutcome | null;
}

/** Waits for the end of a child. An ended child answers at once, as often as it is asked for, and nothing is written. */
export async function waitForChildRun(
  runtime: Runtime,
  held: Held,
  wait: ChildWait,
  now: number,
): Promise<ChildWaited> {
  const { name, runId, dueAt, write } = wait;
  const request = { kind: 'run' as const, name, runId, dueAt, write, payload: NULL_VALUE, timerId: '' };
  const linkKey = childLinkKey(held.runId, runId);
  const keys = keysOf(held.runId, runId);
  const { run, result } = await changeRun<ChildWaited['answer']>(
    runtime,
    { runId: held.runId, now, keys, frees: true },
    (before, found, at) => {
      const link = linkIn(found, linkKey);
      const child = link === null ? null : (link.outcome ?? endedChild(found, link));
      const isOver = link === null || child !== null;
      const { outcome, isRepeat, isOver: ends, ...change } = waitForChild(before, held, request, isOver, at);
      if (ends === true) return { change: null, result: { runId, name, child } };
      const answer = outcome ?? 'waits';
      if (isRepeat === true) return { change: null, result: answer };
      const parked = change.run.status === 'waiting' && link !== null && !link.waited;
      const writes: Write[] = parked ? [{ put: linkRecord({ ...link, waited: true }) }] : [];
      return { change, writes, result: answer };
    },
  );
  return { run: present(run), answer: result };
}

/** How the child has ended; `active` while it has not, and `null` where the run has no such child. Parks nothing. */
export async function childNow(
  runtime: Runtime,
  parentId: string,
  runId: string,
): Promise<ChildOutcome | 'active' | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: keysOf(parentId, runId) });
  const found: LoadedRecords = {
    get: ({ collection, id }) => records.find(({ key }) => key.collection === collection && key.id === id),
  };
  const link = linkIn(found, childLinkKey(parentId, runId));
  return link === null ? null : (link.outcome ?? endedChild(found, link) ?? 'active');
}

/** A server of an earlier release ends a child without its link, so the child itself is read too. */
function keysOf(parentId: string, childId: string): KeyRequest[] {
  return [
    { key: childLinkKey(parentId, childId), view: 'body' },
    { key: runKey(childId), view: 'body', unguarded: true },
  ];
}

function linkIn(found: LoadedRecords, key: KeyRequest['key']): ChildLink | null {
  const record = found.get(key);
  return record === undefined ? null : readLink(record);
}

function endedChild(found: LoadedRecords, { parentId, childId }: ChildLink): ChildOutcome | null {
  const record = found.get(runKey(childId));
  if (record === undefined) return null;
  const child = readRun(record, childId);
  return child.parentId === parentId ? outcomeOfRun(child) : null;
}

/** The result of an ended child; `undefined` where it was removed with the child. */
export async function resultOfChild(runtime: Runtime, { result }: ChildOutcome) {
  const [value] = await findValues(runtime, [result]);
  return value;
}
