import { expect, test } from 'vitest';
import { dependantsOf } from './dependants.ts';

const texts: Readonly<Record<string, string>> = {
  'functions/graph/rule.ts': '',
  'functions/graph/rule.test.ts': `import './rule.ts';`,
  'functions/groups/graph/handlers.ts': `import type { A } from '../../graph/rule.ts';`,
  'functions/groups/graph/wire.test.ts': `import '../../compose/compose.ts';`,
  'functions/groups/rag/handlers.ts': '',
  'functions/groups/rag/wire.test.ts': `import '../../compose/compose.ts';`,
  'functions/compose/compose.ts': `await import('../groups/graph/handlers.ts'); await import('../groups/rag/handlers.ts');`,
  'test/stage.ts': `await import('../functions/graph/rule.ts');`,
  'test/stage.test.ts': `import './stage.ts';`,
  'test/attack.test.ts': `import '../functions/compose/compose.ts';`,
};
const dependants = (...changed: readonly string[]) =>
  dependantsOf(changed, Object.keys(texts), (path) => texts[path] ?? '');

test('a test depends on what it imports, the nearest first, and a test of a group on its folder', () => {
  expect(dependants('functions/graph/rule.ts')).toEqual([
    'functions/graph/rule.test.ts',
    'test/stage.test.ts',
    'functions/groups/graph/wire.test.ts',
  ]);
});

test('a change of the composition reaches every test of a service', () => {
  expect(dependants('functions/compose/compose.ts')).toEqual([
    'functions/groups/graph/wire.test.ts',
    'functions/groups/rag/wire.test.ts',
    'test/attack.test.ts',
  ]);
});

test('a changed test depends on itself, one that was removed on nothing, and a page on nothing', () => {
  expect(dependants('test/attack.test.ts', 'test/removed.test.ts', 'README.md')).toEqual([
    'test/attack.test.ts',
  ]);
});
