import { type Conditions, judgeConditions } from '../../kernel/conditions.ts';
import { ServiceError } from '../../kernel/errors.ts';

/** Throws `precondition_failed` unless an object with the content hash `etag` (`null`: no object) meets the conditions of a write. */
export function checkCondition(etag: string | null, conditions: Conditions): void {
  const judgement = judgeConditions(etag, conditions);
  if (judgement === 'unmatched')
    throw failed(etag === null ? 'there is no such object' : 'the current etag does not match');
  if (judgement === 'matched') throw failed('the object exists');
}

function failed(reason: string): ServiceError {
  return new ServiceError('precondition_failed', `The write precondition failed: ${reason}.`);
}
