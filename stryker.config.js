import { pathToFileURL } from 'node:url';
import { toolPath } from './scripts/tools.ts';
import { filesOf, isMutable, rooms } from './test/mutation/rooms.ts';

// `scripts/mutation/measure.ts` names the room.
const room = process.env.MUTATION_ROOM ?? '';

export default {
  packageManager: 'npm',
  testRunner: 'vitest',
  plugins: [pathToFileURL(toolPath('@stryker-mutator/vitest-runner/dist/src/index.js')).href],
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  tsconfigFile: 'none.json',
  coverageAnalysis: 'perTest',
  mutate: filesOf(rooms[room]?.files ?? [], import.meta.dirname).filter(isMutable),
  ignorePatterns: ['dist', 'coverage', '.svc', 'infra'],
  tempDirName: 'dist/mutation/sandbox',
  cleanTempDir: 'always',
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: `dist/mutation/${room}/mutants.json` },
  allowConsoleColors: false,
  logLevel: 'warn',
  // A mutant that loops is found by its count of hits. Time ends only what neither counts nor returns, also on a busy machine.
  timeoutMS: 60_000,
};
