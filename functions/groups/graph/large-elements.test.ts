import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SvcGraphCollectionImportPreflightResult } from '../../../contracts/generated/models.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function preflight(envelope: object) {
  const path = '/collections/large/graph/import/preflight';
  const answer = await service.call({ method: 'POST', path, headers: {}, body: { envelope } });
  return { status: answer.status, found: answer.json<SvcGraphCollectionImportPreflightResult>() };
}

test('the preflight names the record that an import could not write', async () => {
  // The record holds the label twice: in the element and as words for searches.
  const { status, found } = await preflight({ nodes: [{ id: 'a', type: 't', label: 'x'.repeat(500_000) }] });
  expect([status, found.valid, found.readyToImport]).toEqual([200, false, false]);
  expect(found.errors).toEqual([
    expect.stringMatching(/^The record g:node:\S+ would have more than 900000 bytes\.$/),
  ]);
});

test('an element that is larger than a record alone is refused by its place', async () => {
  const { status, found } = await preflight({
    nodes: [
      { id: 'a', type: 't' },
      { id: 'b', type: 't', properties: { of: 'x'.repeat(900_000) } },
    ],
  });
  expect(status).toBe(400);
  expect(found).toMatchObject({ code: 'limit_exceeded', errors: [{ pointer: '/envelope/nodes/1' }] });
});
