import { type CatalogOperation, isToolExposure } from '../catalog.ts';
import type { EntrySource, GroupSource, SharedSource } from './types.ts';

/** The facts of an operation that its other defaults depend on. */
export interface Facts {
  readonly stability: CatalogOperation['stability'];
  readonly mutation: CatalogOperation['mutation'];
  readonly completion: CatalogOperation['completion'];
}

/** Where no member says otherwise, the method decides whether the operation writes; a write is atomic. */
export function factsOf(entry: EntrySource): Facts {
  const method = entry.route.split(' ')[0];
  const byMethod = method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write';
  const mutation = entry.mutation ?? byMethod;
  return {
    stability: entry.stability ?? 'public',
    mutation,
    completion: entry.completion ?? (mutation === 'read' ? 'non-mutating' : 'atomic'),
  };
}

/** An operation that admits a job takes a key in a header; other writes take none. */
export function idempotencyOf({ idempotency }: EntrySource, facts: Facts): CatalogOperation['idempotency'] {
  if (idempotency !== undefined) return idempotency;
  if (facts.mutation === 'read') return { requirement: 'not-applicable', location: null };
  if (facts.completion !== 'receipt-bound') return { requirement: 'unsupported', location: null };
  return {
    requirement: 'supported',
    location: { in: 'header', name: 'Idempotency-Key', aliases: ['X-Idempotency-Key'] },
  };
}

/** The methods of the SDKs are named like the operation. An internal operation has none. */
export function sdkOf({ id, sdk }: EntrySource, { stability }: Facts): CatalogOperation['sdk'] {
  if (stability === 'internal' && sdk === undefined) return null;
  const typescript = sdk?.typescript ?? id;
  return {
    python: sdk?.python ?? snake(typescript),
    typescript,
    ...(sdk?.absent === undefined ? {} : { absent: sdk.absent }),
  };
}

/**
 * Where it says no more than its exposure: the name of a tool or task, or the URI of a resource, made of the id; tools and
 * resources are on by default unless they are a preview.
 */
export function mcpOf(
  group: string,
  { id, mcp }: EntrySource,
  { stability }: Facts,
): CatalogOperation['mcp'] {
  const given = typeof mcp === 'string' ? { exposure: mcp } : (mcp ?? { exposure: 'none' as const });
  const { exposure } = given;
  const named = isToolExposure(exposure);
  const read = exposure === 'tool' || exposure === 'resource';
  return {
    exposure,
    name: given.name ?? (named ? toolName(group, id) : null),
    uri: given.uri ?? (exposure === 'resource' ? `svc://${words(id).slice(1).join('_')}/v1` : null),
    defaultEnabled: given.defaultEnabled ?? (read && stability === 'public'),
  };
}

/** `svc_<group>_<id>_v1`, where the id does not repeat the group or its singular. */
function toolName(group: string, id: string): string {
  const own = words(id).filter((word) => word !== group && `${word}s` !== group);
  return `svc_${group}_${own.join('_')}_v1`;
}

/** The tests that range over the catalog, then those of the operation, or else those of its group: these need not know each new one. */
export function evidenceOf(
  shared: SharedSource['evidence'],
  group: GroupSource['evidence'],
  own: EntrySource['evidence'],
): CatalogOperation['evidence'] {
  return {
    fixtures: own?.fixtures ?? shared.fixtures,
    tests: [...(group?.catalogTests ?? shared.catalogTests), ...(own?.tests ?? group?.tests ?? [])],
  };
}

/** `get_canonical_fence` of `getCanonicalFence`. */
export function snake(name: string): string {
  return words(name).join('_');
}

function words(name: string): readonly string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}
