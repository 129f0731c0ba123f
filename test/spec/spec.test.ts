import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSource } from '../../contracts/generate/source.ts';
import { type Known, type Requirement, requirementFaults } from './spec.ts';

const files = globSync('test/spec/*.json').sort();
const requirementsOf = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as readonly Requirement[];
const all = files.flatMap(requirementsOf);

const { operations } = readSource(process.cwd()).catalog;
const known: Known = {
  operations,
  textOf: (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  },
};

describe('every sentence of the requirements', () => {
  it.each(files)('%s: is tested, or waits for what is not built yet', (path) => {
    expect(requirementFaults(requirementsOf(path), known)).toEqual([]);
  });

  it('is of one of the three parts, and stands once', () => {
    expect(new Set(files.map((path) => path.slice('test/spec/'.length, 'test/spec/'.length + 2)))).toEqual(
      new Set(['a-', 'b-', 'c-']),
    );
    expect(all.length).toBeGreaterThan(240);
    expect(requirementFaults(all, known)).toEqual([]);
  });

  it('waits for nothing: every part of the specification is built', () => {
    expect(all.flatMap(({ waitsFor }) => waitsFor ?? [])).toEqual([]);
  });
});

describe('the gate finds', () => {
  const sound = all.find(({ tests }) => tests !== undefined);
  if (sound === undefined) throw new Error('the data holds no entry with tests');
  const waiting: Requirement = { id: 'c-later-01', sentence: 'A later endpoint.', waitsFor: 'POST /later' };
  const [operation] = operations;
  if (operation === undefined) throw new Error('the catalogue has an operation');
  const built = {
    ...operation,
    id: 'callLater',
    routes: [{ ...operation.routes[0], method: 'POST', path: '/later' }],
  };

  it.each<[string, readonly object[], string]>([
    ['a sentence without a test', [{ ...sound, tests: [] }], 'no test is named'],
    [
      'a file that is gone',
      [{ ...sound, tests: ['test/gone.test.ts > x'] }],
      'test/gone.test.ts does not exist',
    ],
    [
      'a title that was renamed',
      [{ ...sound, tests: ['test/spec/spec.test.ts > an old ti'] }],
      'has no test',
    ],
    ['a test without a title', [{ ...sound, tests: ['test/spec/spec.test.ts'] }], 'no title is named'],
    ['a row that is gone', [{ ...sound, tests: ['test/spec/spec.test.ts > %s > an old r'] }], 'has no test'],
    ['an id that is taken', [sound, sound], 'its id is taken'],
    ['a mark beside tests', [{ ...sound, waitsFor: 'POST /later' }], 'must not wait'],
    [
      'a mark for an operation that exists',
      [{ ...waiting, waitsFor: 'getHealth' }],
      'getHealth, which exists',
    ],
  ])('%s', (_, requirements, fault) => {
    expect(requirementFaults(requirements as readonly Requirement[], known)).toContainEqual(
      expect.stringContaining(fault),
    );
  });

  it('a mark for an endpoint that was built', () => {
    const after = { ...known, operations: [...operations, built] as Known['operations'] };
    expect(requirementFaults([waiting], known)).toEqual([]);
    expect(requirementFaults([waiting], after)).toContainEqual(
      expect.stringContaining('POST /later, which exists'),
    );
  });
});
