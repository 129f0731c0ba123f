import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { createRouter } from './router.ts';

const all = Object.values<OperationEntry>(operations).flatMap((entry) =>
  entry.routes.map((route) => ({ entry, route })),
);

describe('the routes of the contract', () => {
  const router = createRouter(operations);

  test.each(all)('$route.method $route.operationId leads to its operation', ({ entry, route }) => {
    const match = router.match(route.method, pathOf(route));
    expect([match.entry.id, match.route.operationId]).toEqual([entry.id, route.operationId]);
    for (const segment of route.segments) {
      if ('param' in segment) expect(match.params[segment.param]).toBe(`v:${segment.param}`);
    }
  });

  test.each(all)(
    '$route.operationId has no other case, no slash at the end, and only its methods',
    ({ route }) => {
      const path = pathOf(route);
      const literal = route.segments.find((segment) => 'literal' in segment);
      if (literal && 'literal' in literal) {
        const shouted = path.replace(literal.literal, literal.literal.toUpperCase());
        expect(() => router.match(route.method, shouted)).toThrow(
          expect.objectContaining({ code: 'route_not_found' }),
        );
        expect(() => router.match(route.method, `${path}/`)).toThrow();
      }
      expect(() => router.match('PATCH', path)).toThrow(
        expect.objectContaining({
          code: 'method_not_allowed',
          extensions: { allow: expect.arrayContaining([route.method]) },
        }),
      );
    },
  );
});

describe('a literal beside a parameter', () => {
  const router = createRouter({
    item: entryOf('item', [routeOf('item', 'GET', [{ literal: 'runs' }, { param: 'id' }])]),
    lists: entryOf('lists', [
      routeOf('lists', 'GET', [{ literal: 'runs' }, { literal: 'all' }, { literal: 'lists' }]),
    ]),
    events: entryOf('events', [
      routeOf('events', 'GET', [{ literal: 'runs' }, { param: 'id' }, { literal: 'events' }]),
    ]),
  });

  test('a literal segment has priority, and the router goes back from a dead end behind it', () => {
    expect(router.match('GET', '/runs/all/lists').entry.id).toBe('lists');
    expect(router.match('GET', '/runs/all')).toMatchObject({ entry: { id: 'item' }, params: { id: 'all' } });
    expect(router.match('GET', '/runs/all/events')).toMatchObject({
      entry: { id: 'events' },
      params: { id: 'all' },
    });
  });

  test('two operations with one route are a fault', () => {
    const route = routeOf('a', 'GET', [{ literal: 'a' }]);
    expect(() => createRouter({ a: entryOf('a', [route]), b: entryOf('b', [route]) })).toThrow(
      'two operations',
    );
  });
});

function pathOf(route: OperationRoute): string {
  return `/${route.segments.map((each) => ('literal' in each ? each.literal : `v%3A${each.param}`)).join('/')}`;
}

function routeOf(operationId: string, method: 'GET', segments: OperationRoute['segments']): OperationRoute {
  return {
    operationId,
    method,
    segments,
    path: [],
    query: [],
    headers: [],
    bodyFromParameters: false,
    bodyMembers: [],
  };
}

function entryOf(id: string, routes: readonly OperationRoute[]): OperationEntry {
  return { ...operations.getHealth, id, routes };
}
