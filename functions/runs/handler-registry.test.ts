import { describe, expect, test } from 'vitest';
import { type HandlerDescriptor, HandlerRegistry } from './handler-registry.ts';

const named = (handlerId: string, more: Partial<HandlerDescriptor> = {}): HandlerDescriptor => ({
  handlerId,
  pluginId: null,
  displayName: handlerId,
  description: null,
  maxAttempts: 1,
  concurrencyKey: null,
  tags: {},
  ...more,
});
const plugin = (pluginId: string) => ({ pluginId, name: pluginId, version: '1' });

function registry() {
  const made = new HandlerRegistry();
  made.addExternal(named('z.external', { pluginId: 'theirs', concurrencyKey: 'k' }));
  made.addPlugin(plugin('q'), [named('b', { concurrencyKey: 'k' }), named('a', { pluginId: 'q' })]);
  made.addPlugin(plugin('p'), []);
  return made;
}

describe('the registry of handlers', () => {
  test('knows the owner and the executor of each by its id', () => {
    const made = registry();
    expect(made.get('z.external')).toMatchObject({ kind: 'external', pluginId: 'theirs' });
    expect(made.get('b')).toMatchObject({ kind: 'process', pluginId: 'q' });
    expect(made.get('B')).toBeUndefined();
    expect(made.get('toString')).toBeUndefined();
  });

  test('lists handlers and plugins in the order of their ids', () => {
    expect(registry().handlers.map(({ handlerId }) => handlerId)).toEqual(['a', 'b', 'z.external']);
    expect(registry().plugins).toEqual([
      { ...plugin('p'), handlerIds: [] },
      { ...plugin('q'), handlerIds: ['b', 'a'] },
    ]);
  });

  test('lists the handlers that share a concurrency key, in process or not', () => {
    expect(registry().sharing('k')).toEqual(['b', 'z.external']);
    expect(registry().sharing('other')).toEqual([]);
  });

  test.each<[string, (made: HandlerRegistry) => void]>([
    ['an id twice', (made) => made.addExternal(named('z.external'))],
    ['an external id that a plugin has', (made) => made.addExternal(named('a'))],
    [
      'a plugin with an external id',
      (made) => made.addPlugin(plugin('r'), [named('c'), named('z.external')]),
    ],
    ['a plugin twice', (made) => made.addPlugin(plugin('q'), [named('c')])],
    [
      'a plugin with a handler of another',
      (made) => made.addPlugin(plugin('r'), [named('c', { pluginId: 'q' })]),
    ],
  ])('refuses %s, and is unchanged', (_, add) => {
    const made = registry();
    expect(() => add(made)).toThrow(/twice|another plugin/);
    expect(made.handlers).toEqual(registry().handlers);
    expect(made.plugins).toEqual(registry().plugins);
  });

  test('refuses a plugin that names one handler twice', () => {
    expect(() => registry().addPlugin(plugin('r'), [named('c'), named('c')])).toThrow(
      'c is registered twice',
    );
  });
});

describe('the declaration of a plugin and its handlers', () => {
  const most = {
    handlerId: 'h'.repeat(160),
    displayName: 'd'.repeat(200),
    description: 'd'.repeat(1_000),
    maxAttempts: 25,
    concurrencyKey: 'k'.repeat(160),
    tags: Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`t${n}`, 'v'.repeat(512)])),
  };
  const add = (handler: object, of: object = {}) =>
    new HandlerRegistry().addPlugin({ ...plugin('p'), ...of }, [named('h', handler)]);

  test('may be as large as the limits of the contract', () => {
    expect(() => add(most, { pluginId: 'p'.repeat(160), name: 'n'.repeat(200) })).not.toThrow();
  });

  test.each<[object, RegExp]>([
    [{ handlerId: 'h'.repeat(161) }, /^handler "h+: handlerId must be at most 160 characters$/],
    [{ handlerId: '  ' }, /handlerId must not be blank/],
    [{ handlerId: ' h' }, /handler " h": handlerId must have no white space/],
    [{ handlerId: 'h\n1' }, /handler "h\\n1": handlerId must not hold control/],
    [{ handlerId: 7 }, /handler 7: handlerId must be a text/],
    [{ displayName: 'd'.repeat(201) }, /handler "h": displayName must be at most 200/],
    [{ displayName: 1 }, /displayName must be a text/],
    [{ description: 'd'.repeat(1_001) }, /description must be at most 1000/],
    [{ maxAttempts: 0 }, /maxAttempts must be a whole number from 1 to 25/],
    [{ maxAttempts: 26 }, /maxAttempts/],
    [{ maxAttempts: 1.5 }, /maxAttempts/],
    [{ maxAttempts: '3' }, /maxAttempts/],
    [{ concurrencyKey: '' }, /concurrencyKey must not be blank/],
    [{ concurrencyKey: 5 }, /concurrencyKey must be a text/],
    [{ tags: { a: 1 } }, /tags must be texts/],
    [{ tags: ['a'] }, /tags must be texts/],
    [{ tags: { a: 'v'.repeat(513) } }, /tags must be at most 512/],
    [{ tags: { ...most.tags, more: '' } }, /tags must have at most 32/],
  ])('is refused where it is wrong: %j', (wrong, expected) => {
    expect(() => add(wrong)).toThrow(expected);
    expect(() => new HandlerRegistry().addExternal(named('h', wrong))).toThrow(expected);
  });

  test.each<[object, RegExp]>([
    [{ pluginId: ' p' }, /plugin " p": pluginId must have no white space/],
    [{ name: 'n'.repeat(201) }, /plugin "p": name must be at most 200/],
    [{ version: 1 }, /plugin "p": version must be a text/],
  ])('is refused where the plugin is wrong: %j', (wrong, expected) => {
    expect(() => add({}, wrong)).toThrow(expected);
  });
});
