import { findShape, providerShapes } from '../../graph/rules/shapes.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import { ServiceError } from '../../kernel/errors.ts';

type Handlers = GroupHandlers<'graph'>;

export function listGraphProviderShapes({
  access,
}: Pick<JobLayers, 'access'>): Handlers['listGraphProviderShapes'] {
  return async (_, { caller }) => {
    access.spaceOf(caller, 'read');
    return { status: 200, body: providerShapes };
  };
}

export function getGraphProviderShape({
  access,
}: Pick<JobLayers, 'access'>): Handlers['getGraphProviderShape'] {
  return async ({ params: { providerId } }, { caller }) => {
    access.spaceOf(caller, 'read');
    const shape = findShape(providerId);
    if (shape === null) throw new ServiceError('not_found', 'There is no such store of graphs.');
    return { status: 200, body: shape };
  };
}
