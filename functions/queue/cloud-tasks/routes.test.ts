import { expect, test } from 'vitest';
import { type RouteRules, workerRoutes } from './routes.ts';

const defaults = {
  projectId: 'p',
  locationId: 'l',
  queueId: 'q',
  workerUrl: 'https://worker.example',
  serviceAccountEmail: 'tasks@p',
  audience: 'https://worker.example',
};
const routesOf = (rules: Partial<RouteRules> = {}) =>
  workerRoutes({ defaults, overrides: [], explicit: true, ...rules });

test('a handler of the service goes to the hosted worker, and an external one to the worker of its route', () => {
  const route = routesOf({ overrides: [{ handlerId: 'theirs' }] });
  const standard = {
    queue: 'projects/p/locations/l/queues/q',
    url: 'https://worker.example',
    serviceAccountEmail: 'tasks@p',
    audience: 'https://worker.example',
  };
  expect(route('ours', 'process')).toEqual(standard);
  expect(route('theirs', 'external')).toEqual(standard);
  expect(route('unknown', 'external')).toBeNull();
  expect(routesOf({ explicit: false })('unknown', 'external')).toEqual(standard);
});

test('a route replaces the members that it names, and drops the audience of another address', () => {
  const overrides = [
    { handlerId: 'far', projectId: 'p2', locationId: 'l2', queueId: 'q2', serviceAccountEmail: 'other@p' },
    { handlerId: 'moved', workerUrl: 'https://theirs.example/run' },
    { handlerId: 'aimed', workerUrl: 'https://theirs.example/run', audience: 'theirs' },
  ];
  const route = routesOf({ overrides });
  expect(route('far', 'external')).toMatchObject({
    queue: 'projects/p2/locations/l2/queues/q2',
    serviceAccountEmail: 'other@p',
    audience: 'https://worker.example',
  });
  expect(route('moved', 'external')).toMatchObject({ url: 'https://theirs.example/run', audience: null });
  expect(route('aimed', 'external')).toMatchObject({ audience: 'theirs' });
});

test('an incomplete route is no route', () => {
  for (const name of ['projectId', 'locationId', 'queueId', 'workerUrl'] as const) {
    const rules = { defaults: { ...defaults, [name]: null } };
    expect(routesOf(rules)('ours', 'process'), name).toBeNull();
    const own = { ...rules, overrides: [{ handlerId: 'ours', [name]: 'x' }] };
    expect(routesOf(own)('ours', 'process'), name).not.toBeNull();
  }
});
