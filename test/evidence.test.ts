import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSource } from '../contracts/generate/source.ts';
import { clientMethods, evidenceFaults, type Project } from './evidence.ts';
import { importsOf } from './structure.ts';

const { operations } = readSource(process.cwd()).catalog;
const text = (path: string) => readFileSync(path, 'utf8');

/** Test files, and all files that they import, directly or through others. */
function reachedByTests(): ReadonlySet<string> {
  const open = globSync(['test/conformance/*.test.ts', 'functions/groups/**/*.test.ts']);
  const reached = new Set(open);
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const { specifier } of importsOf(text(path))) {
      const target = posix.join(posix.dirname(path), specifier);
      if (!specifier.startsWith('.') || !target.startsWith('test/conformance/') || reached.has(target))
        continue;
      reached.add(target);
      open.push(target);
    }
  }
  return reached;
}

const project: Project = {
  textOf: text,
  reached: reachedByTests(),
  methods: clientMethods(['test/support/execution.ts', 'test/support/canonical.ts'].map(text)),
};

describe('the evidence of an operation', () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    '%s is complete',
    (_, operation) => {
      expect(evidenceFaults(operation, project)).toEqual([]);
    },
  );

  const operation = operations.find(({ id }) => id === 'getExecutionRunHistory');
  if (operation === undefined) throw new Error('the catalogue has the history of a run');
  const faultsOf = (tests: readonly string[]) =>
    evidenceFaults({ ...operation, evidence: { fixtures: [], tests } }, project);

  it('is refused without a test of each kind', () => {
    const { tests } = operation.evidence;
    for (const path of ['sdk/python/tests/test_wire.py', 'test/system/two-instances-scenario.test.ts'])
      expect(faultsOf(tests.filter((each) => each !== path))).toHaveLength(1);
    expect(faultsOf([])).toHaveLength(7);
  });

  it('is refused with a test that does not call it, or that no test imports', () => {
    const { tests } = operation.evidence;
    expect(faultsOf([...tests, 'test/conformance/canonical-query.ts'])).toEqual([
      'getExecutionRunHistory: test/conformance/canonical-query.ts does not call it',
    ]);
    const alone = { ...project, reached: new Set<string>() };
    expect(evidenceFaults(operation, alone)).toContain(
      'getExecutionRunHistory: no test imports test/conformance/execution-history.ts',
    );
  });
});
