/** `npm run reached`: how many files each operation needs before its handler runs (`--help`). */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loweredCeilings } from './reached-files/count.ts';
import { countsOf, reachedFiles, readCeilings, writeCeilings } from './reached-files/project.ts';

const help = `Counts the files that each operation reaches by static imports of values from its handler. Type-only imports, import() and
generated files do not count.

  npm run reached                  a table of all operations, the largest first, with their ceilings
  npm run reached -- <operation>   the files of one operation
  npm run reached -- --lower       lowers the ceilings in scripts/reached-files/ceilings.json to what is reached now
  --help                           this text

An operation without a ceiling of its own has the one named "otherwise". A ceiling rises by hand only, with the reason in the commit.
`;

const root = resolve(import.meta.dirname, '..');
process.exitCode = run();

function run(): number {
  const options = { help: { type: 'boolean' }, lower: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const reached = reachedFiles(root);
  if (values.help) console.log(help);
  else if (values.lower) writeCeilings(root, loweredCeilings(countsOf(reached), readCeilings(root)));
  else if (positionals.length === 0) console.log(tableOf(reached));
  else return printFiles(positionals, reached);
  return 0;
}

function tableOf(reached: ReadonlyMap<string, readonly string[]>): string {
  const { otherwise, operations } = readCeilings(root);
  const rows = [...countsOf(reached)]
    .sort(([, a], [, b]) => b - a)
    .map(
      ([operation, count]) => `${column(count)}${column(operations[operation] ?? otherwise)}  ${operation}`,
    );
  return ['  files  ceiling', ...rows].join('\n');
}

function column(value: number): string {
  return String(value).padStart(7);
}

function printFiles(names: readonly string[], reached: ReadonlyMap<string, readonly string[]>): number {
  for (const name of names) {
    const files = reached.get(name);
    if (files === undefined) {
      console.error(`${name} is no operation.`);
      return 2;
    }
    console.log([`${name}: ${files.length} files`, ...files.map((file) => `  ${file}`)].join('\n'));
  }
  return 0;
}
