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
  test('knows each by its id, whose it is and who executes it', () => {
    const made = registry();
    expect(made.get('z.external')).toMatchObject({ kind: 'external', pluginId: 'theirs' });
    expect(made.get('b')).toMatchObject({ kind: 'process', pluginId: 'q' });
    expect(made.get('B')).toBeUndefined();
    expect(made.get('toString')).toBeUndefined();
  });

  test('tells handlers and plugins in the order of their ids', () => {
    expect(registry().handlers.map(({ handlerId }) => handlerId)).toEqual(['a', 'b', 'z.external']);
    expect(registry().plugins).toEqual([
      { ...plugin('p'), handlerIds: [] },
      { ...plugin('q'), handlerIds: ['b', 'a'] },
    ]);
  });

  test('tells who shares a concurrency key, in process or not', () => {
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
  ])('refuses %s, and is left as it was', (_, add) => {
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
