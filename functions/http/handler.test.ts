import { expect, test } from 'vitest';
import type { GroupHandlers, Handler } from './handler.ts';

// The compiler proves these lines: when an expected error is missing, it reports the line itself.

declare const complete: GroupHandlers<'server'>;
declare const commit: Handler<'commitCanonicalTransaction'>;
type Answer = Awaited<ReturnType<typeof commit>>;
declare const body: Answer['body'];

test('a missing, a surplus and a misplaced handler do not compile', () => {
  const checks = () => {
    const { getHealth, ...withoutHealth } = complete;
    // @ts-expect-error: getHealth is missing
    const missing: GroupHandlers<'server'> = { ...withoutHealth };
    // @ts-expect-error: the group has no such operation
    const surplus: GroupHandlers<'server'> = { ...withoutHealth, getHealth, getWealth: getHealth };
    // @ts-expect-error: the answer is not that of the operation
    const misplaced: GroupHandlers<'server'> = { ...withoutHealth, getHealth: commit };
    return [missing, surplus, misplaced];
  };
  expect(checks).toBeTypeOf('function');
});

test('an answer carries the fields that the contract names, and no others', () => {
  const answers = (): readonly Answer[] => {
    const plain: Answer = { status: 200, body };
    const replayed: Answer = { status: 200, body, headers: { 'Idempotency-Replayed': 'true' } };
    // @ts-expect-error: the contract names no such field
    const surplus: Answer = { status: 200, body, headers: { 'Idempotency-Repeated': 'true' } };
    return [plain, replayed, surplus];
  };
  expect(answers).toBeTypeOf('function');
});
