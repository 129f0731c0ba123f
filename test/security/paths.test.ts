import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { limits } from '../../contracts/generated/limits.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import { cases, forAll, patienceMs, share } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { contractModels, type SchemaSet } from './schema-set.ts';
import { decodeOnce, nameIn, segments } from './segments.ts';
import { allEntries, routesOf } from './target.ts';
import { blank, givingBack } from './verbatim.ts';

vi.setConfig({ testTimeout: patienceMs });

interface Slot {
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  /** The parameter under attack. */
  readonly name: string;
  /** Whether it takes the rest of the path, so that an encoded slash divides it too. */
  readonly isRest: boolean;
}

/** Every parameter of every path, by a name that a failure can show. */
const slots: ReadonlyMap<string, Slot> = new Map(
  routesOf(allEntries).flatMap(({ entry, route }) =>
    route.path.map(({ name }) => {
      const isRest = route.segments.some(
        (each) => 'param' in each && each.param === name && each.rest === true,
      );
      return [`${route.operationId} ${name}`, { entry, route, name, isRest }] as const;
    }),
  ),
);
const routes = new Map(routesOf(allEntries).map((each) => [each.name, each]));
const DRAWS = share(8_000, 20_000);
const beforeTheOperation = ['route_not_found', 'method_not_allowed'];

let service: RunningService;
let set: SchemaSet;
beforeAll(async () => {
  service = await startService({ world: hurried });
  set = contractModels();
});
afterAll(() => service.close());

/** The request with one parameter unchanged; its body names no event, and no tenant except in its verbatim members. */
function send({ entry, route, name }: Slot, segment: string) {
  const parts = route.segments.map((each) =>
    'literal' in each ? each.literal : each.param === name ? segment : 'other',
  );
  // An import says that its collection may have another name than the one of the path.
  const decoded = name === 'tenantId' ? Buffer.from(decodeOnce(segment) ?? []).toString() : 'other';
  const body = bodyFor(entry, route, decoded);
  return service.call({ method: route.method, path: `/${parts.join('/')}`, body });
}

function bodyFor(entry: OperationEntry, route: OperationRoute, tenantId: string): Json | undefined {
  if (entry.requestSchema === null || route.bodyFromParameters) return undefined;
  const example = set.model(entry.requestSchema).examples?.[0] as Record<string, Json>;
  const { tenantId: _, eventId: __, mutations: ___, ...body } = example;
  const renames = Object.hasOwn(set.model(entry.requestSchema).properties ?? {}, 'allowCollectionRename');
  if (renames) body['allowCollectionRename'] = true;
  return givingBack(set, entry.requestSchema, body, (model) => blank(model, tenantId));
}

/** The key of an object has no control character, no empty and no dot segment; a backslash counts as a slash in it. */
function canBeRest(name: string | null): boolean {
  if (/\p{Cc}/u.test(name ?? '')) return false;
  const parts = name?.split(/[/\\]/) ?? [];
  return parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

function bytesMaxOf(spec: ParameterSpec | undefined): number {
  return Math.max(limits.identifierBytesMax, spec?.maxLength ?? 0);
}

/** The operation with a parameter in the place of the literal: it takes the damaged text as a name that nothing has. */
function besideLiteral(route: OperationRoute, at: number | undefined): OperationEntry | undefined {
  for (const { entry, route: other } of routes.values()) {
    if (other.method !== route.method || other.segments.length !== route.segments.length) continue;
    const isBeside = other.segments.every((segment, index) => {
      const own = route.segments[index];
      if (index === at) return !('literal' in segment);
      if (!('literal' in segment)) return own !== undefined && !('literal' in own);
      return own !== undefined && 'literal' in own && own.literal === segment.literal;
    });
    if (isBeside) return entry;
  }
  return undefined;
}

describe('E01-E24: path segments', () => {
  test('each is taken as the name that it decodes to, or refused', async () => {
    let accepted = 0;
    const drawn = fc.tuple(fc.constantFrom(...slots.keys()), segments);
    await forAll('segments', DRAWS, drawn, async ([chosen, segment]) => {
      const slot = slots.get(chosen) as Slot;
      const answer = await send(slot, segment);
      judge(set, slot.entry, answer, beforeTheOperation);
      // These divide the target before it is a segment; what they lead to is judged, and is no longer this parameter's.
      if (/[/?]/.test(segment)) return;
      const spec = slot.route.path.find(({ name }) => name === slot.name);
      const most = spec?.maxLength ?? limits.pathSegmentLengthMax;
      // Tenant and event ids are single path segments (specification); every other parameter is decoded once.
      const strict = ['tenantId', 'eventId'].includes(slot.name);
      const anyText = spec?.anyText === true;
      const whole = nameIn(segment, { lengthMax: most, bytesMax: bytesMaxOf(spec), strict, anyText });
      const known = slot.isRest && !canBeRest(whole) ? null : whole;
      const isFormed =
        known !== null &&
        known.length >= (spec?.minLength ?? 0) &&
        new RegExp(spec?.pattern ?? '', 'u').test(known);
      const name = isFormed ? known : null;
      // 431: the target as a whole is too long.
      const refused = [400, 431].includes(answer.status);
      if (refused !== (name === null)) throw new BrokenPromise(`named ${JSON.stringify(name)}`, answer);
      if (name === null) return;
      accepted += 1;
      expect(Buffer.from(name)).toEqual(Buffer.from(decodeOnce(segment) ?? []));
      const again = await send(slot, encodeURIComponent(name));
      expect(again.status === 400, 'its canonical spelling is refused').toBe(false);
      if (slot.name !== 'tenantId' || answer.status !== 200) return;
      const { tenantId = name } = answer.json<{ tenantId?: string }>();
      expect(tenantId).toBe(name);
    });
    expect(service.lines).toEqual([]);
    expect(accepted).toBeGreaterThan(cases(DRAWS) / 20);
  });

  // limits.json bounds every identifier at 400 bytes, and every member that holds one is held to it; a longer name of the
  // contract is bounded at as many bytes.
  test.each([...new Set([...slots.values()].map(({ name }) => name))])(
    'E15: a %s in the path of more than 400 bytes is refused',
    async (name) => {
      for (const slot of [...slots.values()].filter((each) => each.name === name)) {
        const spec = slot.route.path.find((each) => each.name === slot.name);
        const text = '\u4e2d'.repeat(Math.floor(bytesMaxOf(spec) / 3) + 1);
        expect((await send(slot, encodeURIComponent(text))).status, slot.route.operationId).toBe(400);
      }
    },
  );

  test('a literal in any other spelling, an empty segment or a dot segment leads nowhere', async () => {
    const damage = fc.constantFrom(
      (literal: string) => literal.toUpperCase(),
      (literal: string) => `%${literal.charCodeAt(0).toString(16)}${literal.slice(1)}`,
      (literal: string) => `/${literal}`,
      (literal: string) => `./${literal}`,
      (literal: string) => `../${literal}`,
      (literal: string) => `x/../${literal}`,
      (literal: string) => `${literal};a=b`,
      (literal: string) => `${literal}.`,
      (literal: string) => `${literal}%00`,
      (literal: string) => `${literal}%20`,
      (literal: string) => `\u017f${literal}`,
    );
    const drawn = fc.tuple(fc.constantFrom(...routes.keys()), fc.nat(), damage);
    await forAll('literals', 1_000, drawn, async ([chosenRoute, at, damaged]) => {
      const { entry, route } = routes.get(chosenRoute) as { entry: OperationEntry; route: OperationRoute };
      const literals = route.segments.flatMap((each, index) => ('literal' in each ? [index] : []));
      const chosen = literals[at % literals.length];
      const parts = route.segments.map((each, index) =>
        'literal' in each ? (index === chosen ? damaged(each.literal) : each.literal) : 'other',
      );
      const answer = await service.call({
        method: route.method,
        path: `/${parts.join('/')}`,
        body: bodyFor(entry, route, 'other'),
      });
      const judged = besideLiteral(route, chosen) ?? entry;
      if (judge(set, judged, answer, [...beforeTheOperation, 'invalid_path_segment']).accepted) {
        throw new BrokenPromise(`/${parts.join('/')} was served`, answer);
      }
    });
  });

  test('E23: a target that is no path leads nowhere', async () => {
    for (const path of [
      'http://evil.example/health',
      '*',
      'health',
      '',
      '//health',
      '/health/',
      '/./health',
      '/health/.',
    ]) {
      const answer = await service.call({ method: 'GET', path });
      expect([400, 404], path).toContain(answer.status);
    }
  });
});
