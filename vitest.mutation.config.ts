import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { rooms } from './test/mutation/rooms.ts';
import { seededProperties } from './test/support/seeded-properties.ts';

const name = process.env['MUTATION_ROOM'] ?? '';
const { files = [], tests = [], draws = 25 } = rooms[name] ?? {};

const isFar = ({ moduleId }: TestSpecification) => Number(moduleId.includes('/test/'));

/** The first test that fails settles a mutant, so the tests beside the code go first. */
class BesideTheCodeFirst extends BaseSequencer {
  override sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(specifications.toSorted((a, b) => isFar(a) - isFar(b)));
  }
}

/** The tests that judge the mutants of one room. */
export default defineConfig({
  plugins: [seededProperties],
  test: {
    include: [...tests],
    exclude: ['**/node_modules/**', 'dist/**'],
    provide: { stores: ['memory'] },
    sequence: { sequencer: BesideTheCodeFirst },
    maxWorkers: 1,
    // One worker loads the modules of a mutant's tests once, not once for each test file.
    isolate: false,
    setupFiles: ['test/support/restored-process.ts'],
    testTimeout: 60_000,
    env: { METADATA_SERVER_DETECTION: 'none', MUTATION_DRAWS: String(draws) },
    coverage: {
      include: files.filter((pattern) => !pattern.startsWith('!')),
      exclude: ['**/*.{test,fixture}.ts', '**/generated/**'],
      reporter: ['json-summary'],
      reportsDirectory: `dist/mutation/${name}/coverage`,
    },
  },
});
