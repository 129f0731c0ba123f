import { expect, test } from 'vitest';
import type { GraphJob } from '../../../contracts/generated/models.ts';
import { startService } from '../../../test/support/service.ts';

test.each(['inspect', 'doctor'])(
  'startGraph jobs take a request without a body as one of an empty object: %s',
  async (kind) => {
    const service = await startService();
    const answer = await service.call({ method: 'POST', path: `/collections/absent/graph/${kind}/jobs` });
    expect([answer.status, answer.json<GraphJob>().kind]).toEqual([202, kind]);
    await service.close();
  },
);

test('an import of a graph with more faults than a problem lists is refused with the first of them', async () => {
  const service = await startService();
  const nodes = Array.from({ length: 40 }, () => ({ id: 'ada', type: 'person' }));
  const path = '/collections/absent/graph/import/jobs';
  const answer = await service.call({ method: 'POST', path, body: { envelope: { nodes } } });
  expect([answer.status, answer.json<{ errors: unknown[] }>().errors.length]).toEqual([400, 20]);
  await service.close();
});
