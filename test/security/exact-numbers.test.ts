import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { patienceMs } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import {
  bodyAt,
  integer,
  kept,
  type NumberPlace,
  placesOf,
  pointerOf,
  rounded,
  withNumber,
} from './number-places.ts';
import { requestOf } from './requests.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, freshTenant, routesOf } from './target.ts';
import { WriteWatch } from './writes.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

const routes = routesOf(allEntries).filter(
  ({ entry, route }) =>
    entry.requestSchema !== null && entry.bodyLimitBytes !== null && !route.bodyFromParameters,
);

describe('a number that a double changes', () => {
  let service: RunningService;
  let watch: WriteWatch;
  const set = contractModels();
  const places = (entry: OperationEntry): NumberPlace[] => [
    ...placesOf(set, set.model(entry.requestSchema ?? '')),
  ];

  beforeAll(async () => {
    service = await startService({ world: hurried });
    const tenant = `/canonical/tenants/${freshTenant()}`;
    // Makes the file, and the secret of page tokens.
    await service.call({
      method: 'POST',
      path: `${tenant}/outbox/query`,
      body: { continuationToken: 'a.b' },
    });
    watch = new WriteWatch(service);
    await watch.rested();
  });
  afterAll(async () => {
    watch.close();
    await service.close();
  });

  const send = (entry: OperationEntry, route: OperationRoute, path: NumberPlace['path'], number: string) => {
    const params = Object.fromEntries(
      route.path.map(({ name }) => [name, name === 'tenantId' ? freshTenant() : name]),
    );
    const request = requestOf({ entry, route }, { params, query: [], headers: [], body: bodyAt(path) });
    return service.call({ ...request, body: withNumber(String(request.body), number) });
  };
  const refusalOf = ({ status, body }: InjectedResponse): unknown => {
    if (status < 400) return status;
    const { code, errors } = JSON.parse(body) as { code: string; errors?: readonly { pointer: string }[] };
    return { status, code, pointer: code === 'malformed_request' ? errors?.[0]?.pointer : undefined };
  };

  // All refusals come first: what is accepted below goes on to write.
  test.each(routes)('$name refuses it with its pointer, and writes nothing', async ({ entry, route }) => {
    const before = watch.version;
    for (const { path, isFloat } of places(entry)) {
      const wanted = { status: 400, code: 'malformed_request', pointer: pointerOf(path) };
      for (const number of isFloat ? [integer] : [integer, ...rounded])
        expect(refusalOf(await send(entry, route, path, number))).toEqual(wanted);
    }
    expect(watch.version).toBe(before);
  });

  test.each(routes)('$name takes all others, and rounds floats', async ({ entry, route }) => {
    const malformed = { code: 'malformed_request' };
    for (const { path, isFloat } of places(entry)) {
      for (const number of isFloat ? [...rounded, ...kept] : kept) {
        const found = refusalOf(await send(entry, route, path, number));
        expect(found, `${pointerOf(path)} ${number}`).not.toMatchObject(malformed);
      }
    }
  });

  test('both kinds of places exist', () => {
    const all = routes.flatMap(({ entry }) => places(entry));
    expect(all.filter(({ isFloat }) => isFloat).length).toBeGreaterThan(50);
    expect(all.filter(({ isFloat }) => !isFloat).length).toBeGreaterThan(50);
  });
});
