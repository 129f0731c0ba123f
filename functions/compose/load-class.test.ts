import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import canonical from '../../contracts/schemas/canonical.schema.json' with { type: 'json' };
import execution from '../../contracts/schemas/execution.schema.json' with { type: 'json' };
import { loadOf, mayBeServedFirst } from './load-class.ts';

const all = Object.values(operations);
const models = { ...canonical.$defs, ...execution.$defs } as Record<string, { readonly properties?: object }>;
const modelOf = (name: string | null) => models[name ?? ''];
const idsOf = (loadClass: string | null) =>
  all.filter((entry) => (loadOf(entry)?.loadClass ?? null) === loadClass).map(({ id }) => id);

describe('the classes of all operations', () => {
  test('probes are always served', () => {
    expect(idsOf(null)).toEqual(['getHealth', 'getReadiness']);
  });

  test('calls that keep or end work under a lease come first', () => {
    expect(idsOf('lease').toSorted()).toEqual([
      'acknowledgeCanonicalOutbox',
      'completeExternalExecutionLease',
      'heartbeatExternalExecutionLease',
      'putExternalExecutionLeaseCheckpoint',
      'releaseCanonicalOutbox',
      'releaseExternalExecutionLease',
      'renewCanonicalOutboxLease',
      'reportExternalExecutionLease',
      'startExternalExecutionLeaseChild',
      'waitExternalExecutionLease',
    ]);
  });

  test('every call that shows the token of a lease comes first, unless it reads or only adds', () => {
    const withToken = all.filter(({ requestSchema, mutation }) => {
      const model = modelOf(requestSchema);
      return mutation === 'write' && Object.hasOwn(model?.properties ?? {}, 'leaseToken');
    });
    // A lost trace event repeats no work, and an artifact may have any size.
    const adds = ['putExternalExecutionLeaseArtifact', 'recordExternalExecutionLeaseEvent'];
    const first = withToken.map(({ id }) => id).filter((id) => !adds.includes(id));
    expect(idsOf('lease').toSorted()).toEqual(first.toSorted());
    for (const id of adds) expect(idsOf('usual')).toContain(id);
  });

  test('exports, restores, lists, upkeep and all that is answered 202 come last', () => {
    const bulk = idsOf('bulk');
    const named = /^(?:export|restore|list|inspect|evaluate|compare|summarize|prune|reconcile|qualify|probe)/;
    const isLast = ({ id, responses }: (typeof all)[number]) =>
      named.test(id) || responses.some(({ status }) => status === 202);
    for (const entry of all.filter(isLast)) expect(bulk).toContain(entry.id);
    expect(bulk).toEqual(
      expect.arrayContaining([
        'exportCanonicalTenant',
        'restoreCanonicalTenant',
        'importCollection',
        'upsertRecords',
        'startExecutionRun',
        'startGraphImportJob',
        'ingestRagText',
        'runProviderCapability',
        'doctorGraphCollection',
        'getOpenApiContract',
      ]),
    );
  });

  test('reads and writes that are answered with their result are neither first nor last', () => {
    const usual = idsOf('usual');
    const one =
      /^(?:get|read|query|search|retrieve|traverse|build|generate|commit|upsertRecord$|put|delete|cancel|raise)/;
    const last = /Doctor$|Contract$/;
    for (const { id, responses } of all) {
      if (!one.test(id) || last.test(id) || idsOf(null).includes(id) || idsOf('lease').includes(id)) continue;
      if (responses.every(({ status }) => status !== 202)) expect(usual).toContain(id);
    }
    expect(usual).toEqual(
      expect.arrayContaining([
        'commitCanonicalTransaction',
        'getRecord',
        'searchRecords',
        'getGraphJob',
        'putObject',
      ]),
    );
    expect(new Set([...idsOf(null), ...idsOf('lease'), ...usual, ...idsOf('bulk')]).size).toBe(all.length);
  });
});

test('an operation whose caller may ask to wait gives its place away while it waits', () => {
  const waiting = all.filter(({ routes, requestSchema }) => {
    const inQuery = routes.some(({ query }) => query.some(({ name }) => name === 'waitSeconds'));
    const model = modelOf(requestSchema);
    return inQuery || Object.hasOwn(model?.properties ?? {}, 'waitSeconds');
  });
  expect(waiting.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['getExecutionRun', 'leaseCanonicalOutbox', 'leaseExternalExecutionRun']),
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
