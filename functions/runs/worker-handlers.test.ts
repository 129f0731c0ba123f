import { expect, test } from 'vitest';
import type { LogEvent } from '../kernel/log.ts';
import { describeHandler, HandlerRegistry } from './handler-registry.ts';
import { type Naming, WorkerHandlers } from './worker-handlers.ts';

const settings = { accepts: 'Accepts', named: 'Named' };
const tenant = (tenantId: string | null, productId = 'p') => ({ productId, tenantId });
const acme = { productId: 'p', tenantId: 'acme' };
const globex = { productId: 'p', tenantId: 'globex' };

function stage(accepts: boolean) {
  const registry = new HandlerRegistry();
  registry.addExternal(describeHandler({ handlerId: 'known', maxAttempts: 3 }));
  registry.addBuiltIn({ pluginId: 'svc', name: 'svc', version: '1' }, [
    describeHandler({ handlerId: 'svc.job' }),
  ]);
  registry.addPlugin({ pluginId: 'own', name: 'own', version: '1' }, [
    describeHandler({ handlerId: 'own.one' }),
  ]);
  const lines: LogEvent[] = [];
  let now = 0;
  const tools = { clock: { now: () => now }, log: (event: LogEvent) => void lines.push(event) };
  const handlers = new WorkerHandlers(registry, tools, { accepts, settings });
  const name = (
    ids: readonly string[],
    served: ReturnType<Naming['servedFor']> = [acme],
    more: Partial<Naming> = {},
  ) =>
    handlers.named({
      handlerIds: ids,
      caller: 'a',
      principal: null,
      servedFor: () => served,
      mayStart: () => true,
      ...more,
    });
  return { registry, lines, handlers, name, pass: (ms: number) => void (now += ms) };
}

const ids = (count: number, prefix = 'h') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

test('a handler of the settings is known, and keeps its definition', () => {
  const { registry, name, lines } = stage(true);
  expect(name(['known'])).toEqual([]);
  expect(registry.get('known')?.maxAttempts).toBe(3);
  expect(lines).toEqual([]);
});

test('where handlers of workers are accepted, they are added with their defaults', () => {
  const { registry, name, handlers } = stage(true);
  expect(name(['new'])).toEqual([]);
  const added = { kind: 'external', maxAttempts: 1, pluginId: null };
  expect(registry.startable('new', false, acme)).toMatchObject(added);
  expect(registry.startable('NEW', false, acme)).toBeUndefined();
  expect(handlers.advice).toBe('start a worker that names it (Accepts is true)');
});

test('a handler of the service, or of a plugin, is never added for a worker', () => {
  const { registry, name } = stage(true);
  const own = ['svc.job', 'svc.other', 'own.one'];
  expect(name(own)).toEqual(own);
  expect(own.map((id) => registry.get(id)?.kind)).toEqual(['process', undefined, 'process']);
});

test('an added handler exists for the tenants that its workers serve, and for no other', () => {
  const { registry, name } = stage(true);
  const isIn = (id: string, scope: typeof acme | null) => registry.startable(id, false, scope) !== undefined;
  name(['new']);
  expect([acme, globex, { ...acme, productId: 'q' }, null].map((scope) => isIn('new', scope))).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(registry.handlersIn(globex).map(({ handlerId }) => handlerId)).toEqual(['known', 'own.one']);
  // The answer does not show that another tenant's worker has named it.
  expect(name(['new'], [globex])).toEqual([]);
  expect(isIn('new', globex)).toBe(true);
  name(['wide'], [tenant(null)]);
  expect([acme, globex, { ...acme, productId: 'q' }].map((scope) => isIn('wide', scope))).toEqual([
    true,
    true,
    false,
  ]);
  name(['open'], null);
  expect([acme, null].map((scope) => isIn('open', scope))).toEqual([true, true]);
});

test('the handlers that are added for one tenant are bounded, and those of all', () => {
  const { name, registry, lines } = stage(true);
  expect(name(ids(100))).toEqual([]);
  expect(name(['one-more'])).toEqual(['one-more']);
  expect(lines.map(({ message }) => message)).toEqual([
    'A worker asks for runs of a handler that its calls cannot add: add it to Named, if it is yours',
  ]);
  // A worker of two tenants has the room of the other one.
  expect(name(['one-more'], [acme, globex])).toEqual([]);
  expect(registry.startable('one-more', false, acme)).toBeUndefined();
  for (let count = 1; count < 10; count += 1)
    expect(name(ids(count === 9 ? 99 : 100, `t${count}-`), [tenant(`t${count}`)])).toEqual([]);
  expect(name(['last'], [tenant('fresh')])).toEqual(['last']);
  // All that were added stay known.
  expect(name(['h0'])).toEqual([]);
  expect(name(['h0'], [globex])).toEqual([]);
  expect(registry.handlers).toHaveLength(1_000 + 2);
});

test('without access grants they are bounded for each caller', () => {
  const { name } = stage(true);
  expect(name(ids(100), null)).toEqual([]);
  expect(name(['one-more'], null)).toEqual(['one-more']);
  expect(name(['one-more'], null, { caller: 'b' })).toEqual([]);
});

test('a handler that the product policies exclude is as unknown as one that does not exist', () => {
  const { name, lines, registry } = stage(true);
  const excluded = { mayStart: () => false, servedFor: () => [] };
  expect(name(['known', 'none'], [], excluded)).toEqual(['known', 'none']);
  expect(registry.get('none')).toBeUndefined();
  expect(new Set(lines.map(({ message }) => message))).toEqual(
    new Set([
      'A worker asks for runs of a handler that ExecutionRuntime:ProductPolicies exclude for its tenants',
    ]),
  );
});

test('elsewhere an unknown handler stays unknown, and one line names it and the setting', () => {
  const { registry, name, lines, handlers } = stage(false);
  const by = { principal: 'w@example.com' };
  expect(name(['known', 'new'], [acme], by)).toEqual(['new']);
  expect(name(['known', 'new'], [acme], by)).toEqual(['new']);
  expect(registry.get('new')).toBeUndefined();
  expect(lines).toEqual([
    {
      severity: 'WARNING',
      message: 'A worker asks for runs of a handler that the settings lack: add it to Named',
      principal: 'w@example.com',
      handlerId: 'new',
    },
  ]);
  expect(handlers.advice).toBe('start a worker that names it, and add it to Named');
});

test('the lines of one caller are bounded, and those of all; both begin anew after ten minutes', () => {
  const { name, lines, pass } = stage(false);
  for (const id of ids(25)) name([id]);
  expect(lines).toHaveLength(20);
  name(ids(32, 'other'));
  expect(lines).toHaveLength(20);
  for (let caller = 0; caller < 30; caller += 1) name(ids(25), [acme], { caller: `c${caller}` });
  expect(lines).toHaveLength(200);
  pass(10 * 60_000);
  name(['h0']);
  expect(lines).toHaveLength(201);
});
