import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import schemas from '../../contracts/schemas/execution.schema.json' with { type: 'json' };
import { loadOf, mayBeServedFirst } from './load-class.ts';

const all = Object.values(operations);
const idsOf = (loadClass: string | null) =>
  all.filter((entry) => (loadOf(entry)?.loadClass ?? null) === loadClass).map(({ id }) => id);

describe('the classes of all operations', () => {
  test('probes are always served', () => {
    expect(idsOf(null)).toEqual(['getHealth', 'getReadiness']);
  });

  test('what keeps or ends work that is done comes first', () => {
    expect(idsOf('lease').toSorted()).toEqual([
      'acknowledgeCanonicalOutbox',
      'completeExternalExecutionLease',
      'heartbeatExternalExecutionLease',
      'putExternalExecutionLeaseCheckpoint',
      'releaseCanonicalOutbox',
      'releaseExternalExecutionLease',
      'renewCanonicalOutboxLease',
      'reportExternalExecutionLease',
      'waitExternalExecutionLease',
    ]);
  });

  test('reads of many records and starts of jobs come last', () => {
    const bulk = idsOf('bulk');
    expect(bulk).toEqual(
      expect.arrayContaining([
        'exportCanonicalTenant',
        'restoreCanonicalTenant',
        'listExecutionRuns',
        'importCollection',
        'startGraphImportJob',
        'evaluateRetrieval',
        'getOpenApiContract',
      ]),
    );
    for (const { id } of all)
      if (id.startsWith('list') || id.endsWith('Job'))
        expect([id, bulk.includes(id)]).toEqual([id, id.startsWith('list') || !/^(?:get|cancel)/.test(id)]);
    for (const id of ['getExecutionRun', 'cancelExecutionRun', 'getGraphJob', 'cancelProviderRunJob'])
      expect(bulk).not.toContain(id);
    for (const { id, mutation } of all) if (mutation === 'delete') expect(bulk).not.toContain(id);
  });
});

test('an operation whose caller may ask to wait gives its place away while it waits', () => {
  const waiting = all.filter(({ routes, requestSchema }) => {
    const inQuery = routes.some(({ query }) => query.some(({ name }) => name === 'waitSeconds'));
    const model = (schemas.$defs as Record<string, { properties?: object }>)[requestSchema ?? ''];
    return inQuery || Object.hasOwn(model?.properties ?? {}, 'waitSeconds');
  });
  expect(waiting.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['getExecutionRun', 'leaseExternalExecutionRun']),
  );
  for (const entry of waiting) expect([entry.id, loadOf(entry)?.mayWait]).toEqual([entry.id, true]);
});

test('no request that is served before others is refused before its operation is known', () => {
  for (const entry of all) {
    const load = loadOf(entry);
    if (load !== null && load.loadClass !== 'lease') continue;
    for (const { segments } of entry.routes) {
      const path = segments.map((one) => ('literal' in one ? one.literal : 'x')).join('/');
      expect([entry.id, mayBeServedFirst(`/${path}`)]).toEqual([entry.id, true]);
    }
  }
});
