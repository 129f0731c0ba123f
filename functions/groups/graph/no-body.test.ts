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
