import { ServiceError } from '../../kernel/errors.ts';
import type { AnsweredWrite, Run } from '../run.ts';

/** The worker's name for one write under its lease, and the hash of the write. */
export interface WriteName {
  readonly id: string;
  readonly requestHash: string;
}

/**
 * The most answers kept for one lease. A worker repeats a write before it continues, so this limits only the writes
 * that its threads have under way at the same time.
 * @testonly
 */
export const ANSWERS_MAX = 16;

/** The answer to an earlier write of this name; `null` if the write is new. Throws if the name was used for another write. */
export function answerTo(run: Run, write: WriteName | null): AnsweredWrite | null {
  if (write === null) return null;
  const answer = run.answered?.find(({ id }) => id === write.id);
  return answer === undefined ? null : sameWrite(answer, write);
}

/** Throws unless the two are the same write. */
export function sameWrite<Known extends WriteName>(known: Known, write: WriteName): Known {
  if (known.requestHash === write.requestHash) return known;
  throw new ServiceError('idempotency_conflict', 'The id was used for another write of this lease');
}

/** Keeps the answer of a write that has a name. */
export function withAnswer(
  run: Run,
  write: WriteName | null,
  answer: Omit<AnsweredWrite, keyof WriteName>,
): Run {
  if (write === null) return run;
  const { id, requestHash } = write;
  return { ...run, answered: [...(run.answered ?? []), { id, requestHash, ...answer }].slice(-ANSWERS_MAX) };
}

/** Names hold for one lease: its token is part of every repeat. */
export function withoutAnswers(run: Run): Run {
  if (run.answered === undefined) return run;
  const { answered: _forgotten, ...rest } = run;
  return rest;
}
