import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSource } from './generate/source.ts';

const source = readSource(process.cwd());
const code = globSync('functions/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');
const used = (name: string) => new RegExp(`\\blimits\\.${name}\\b`).test(code);

/** Limits that a schema keeps, whether or not code reads them too: where, as model, members and keyword. */
const keptBySchema: Readonly<Record<string, string>> = {
  identifierLengthMin: 'IdentifierInput minLength',
  mutationsPerCommitMax: 'CanonicalTransactionRequest mutations maxItems',
  fencesPerCommitMax: 'CanonicalTransactionRequest fences maxItems',
  outboxEventsPerCommitMax: 'CanonicalTransactionRequest outbox maxItems',
  outboxHeadersMax: 'CanonicalOutboxWrite headers maxProperties',
  maxDeliveryAttemptsMax: 'CanonicalOutboxWrite maxDeliveryAttempts maximum',
  queryLimitMax: 'CanonicalOutboxQuery limit maximum',
  outboxLeaseItemsMax: 'CanonicalOutboxLeaseRequest maxItems maximum',
  outboxLeaseSecondsMax: 'CanonicalOutboxLeaseRequest leaseSeconds maximum',
  outboxRetryAfterSecondsMax: 'CanonicalOutboxNackRequest retryAfterSeconds maximum',
  outboxErrorLengthMax: 'CanonicalOutboxNackRequest error maxLength',
};

/** Limits that the catalog keeps: the body limit of these operations, and of no other. */
const keptByCatalog: Readonly<Record<string, (id: string) => boolean>> = {
  commitBodyBytesMax: (id) => id === 'commitCanonicalTransaction',
  migrationBodyBytesMax: (id) => id === 'applyCanonicalMigrations',
  restoreBodyBytesMax: (id) => id === 'restoreCanonicalTenant',
  jsonBodyBytesMax: (id) =>
    !['commitCanonicalTransaction', 'applyCanonicalMigrations', 'restoreCanonicalTenant'].includes(id),
};

/** Limits that the catalog keeps for the JSON of these operations. */
const keptByJson: Readonly<
  Record<string, readonly [id: string, bound: 'depthMax' | 'membersMax' | 'containersMax']>
> = {
  restoreJsonDepthMax: ['restoreCanonicalTenant', 'depthMax'],
  restoreJsonMembersMax: ['restoreCanonicalTenant', 'membersMax'],
  restoreJsonContainersMax: ['restoreCanonicalTenant', 'containersMax'],
};

describe('every published limit is one that something keeps', () => {
  it.each(source.limits)('$name', ({ name, value }) => {
    const place = keptBySchema[name];
    const operation = keptByCatalog[name];
    const json = keptByJson[name];
    if (json !== undefined) {
      const [id, bound] = json;
      const kept = source.catalog.operations.find((entry) => entry.id === id)?.request?.json;
      expect(kept?.[bound]).toBe(value);
    } else if (place !== undefined) {
      const [model = '', ...members] = place.split(' ');
      const keyword = members.pop() ?? '';
      const schema = source.models.get(model)?.schema;
      const at = members.length === 0 ? schema : schema?.properties?.[members[0] ?? ''];
      expect((at as Readonly<Record<string, unknown>> | undefined)?.[keyword]).toBe(value);
    } else if (operation !== undefined) {
      const bodies = source.catalog.operations.filter(({ id, request }) => request !== null && operation(id));
      expect(bodies.length).toBeGreaterThan(0);
      for (const { id, request } of bodies) expect(request?.bodyLimitBytes, id).toBe(value);
    } else expect(used(name)).toBe(true);
  });

  it('and no exception is left over', () => {
    const exceptions = [
      ...Object.keys(keptBySchema),
      ...Object.keys(keptByCatalog),
      ...Object.keys(keptByJson),
    ];
    const names = new Set(source.limits.map(({ name }) => name));
    expect(exceptions.filter((name) => !names.has(name))).toEqual([]);
  });
});
