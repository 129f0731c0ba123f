import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  GraphJob,
  SvcGraphCollectionExportResult,
  SvcGraphTraversalResult,
} from '../../contracts/generated/models.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The requests of docs/graph.md, sent to a real service in their order. */

const page = await readFile(join(import.meta.dirname, '../../docs/graph.md'), 'utf8');
/** Path and body of each request that has its body on the page. */
const requests = [...page.matchAll(/curl -s -X POST \$base(\S+) [^']*'[^']*' -d '([^']*)'/g)].map(
  ([, path = '', body = '']) => ({ path, body: JSON.parse(body) as object }),
);

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function post(path: string, body: unknown) {
  const answer = await service.call({ method: 'POST', path, body });
  expect(answer.status, answer.body).toBeLessThan(300);
  return answer;
}

async function ended(path: string): Promise<GraphJob> {
  for (;;) {
    const job = (await service.call({ method: 'GET', path })).json<GraphJob>();
    if (!['queued', 'running'].includes(job.status)) return job;
  }
}

test('the page imports ten nodes, walks, exports and imports elsewhere', async () => {
  expect(requests.map(({ path }) => path.split('/').at(-1))).toEqual(['import', 'traverse', 'export']);
  const [imports, walk, exports] = requests;
  const started = await post(imports?.path ?? '', imports?.body);
  expect(await ended(started.headers['location'] ?? '')).toMatchObject({
    status: 'succeeded',
    nodeCount: 10,
    succeeded: 17,
  });
  expect(page).toContain('its 17 records');
  const jobs = (await service.call({ method: 'GET', path: '/graph/jobs?limit=1' })).json<GraphJob[]>();
  expect(jobs.map(({ id }) => id)).toEqual([started.json<GraphJob>().id]);
  const { projection } = (await post(walk?.path ?? '', walk?.body)).json<SvcGraphTraversalResult>();
  expect(projection.nodes?.map(({ id }) => id)).toEqual(['ada', 'bob', 'cleo']);
  expect(projection.edges?.map(({ id }) => id)).toEqual(['1', '2']);
  const exported = (await post(exports?.path ?? '', exports?.body)).json<SvcGraphCollectionExportResult>();
  expect(page).toContain('$base/collections/copy/graph/import');
  const copied = await post('/collections/copy/graph/import', { envelope: exported.envelope });
  expect(await ended(copied.headers['location'] ?? '')).toMatchObject({ status: 'succeeded', nodeCount: 10 });
});
