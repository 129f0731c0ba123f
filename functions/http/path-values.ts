import type { OperationRoute } from '../../contracts/operation.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { checkRest, checkSegment, segmentRule } from './path.ts';

/** Checks the decoded path parameters of a call that has no path, by the rules of the path. */
export function checkPath(
  { segments, path }: OperationRoute,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const segment of segments) {
    if ('literal' in segment) continue;
    const value = Object.hasOwn(given, segment.param) ? given[segment.param] : undefined;
    if (typeof value !== 'string')
      throw invalidMember(`/${segment.param}`, 'is missing', 'invalid_path_segment');
    const rule = segmentRule(path.find(({ name }) => name === segment.param));
    if (segment.rest === true) checkRest(value, rule);
    else checkSegment(value, rule);
    params[segment.param] = value;
  }
  if (Object.keys(given).length > Object.keys(params).length)
    throw new ServiceError(
      'validation_failed',
      'The call holds a path parameter that the operation does not have.',
    );
  return params;
}
