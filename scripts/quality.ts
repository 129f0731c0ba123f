/**
 * Writes line coverage, mutation scores and surviving mutants into `docs/quality.md`, from the reports of `npm run
 * quality`:
 *
 *     dist/mutation/report.json                       the mutants and their results
 *     dist/mutation/coverage/coverage-summary.json    the lines that the same tests reach
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

interface Mutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number } };
}

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

type Coverage = Readonly<Record<string, { readonly lines: { readonly pct: number } }>>;

const page = 'docs/quality.md';
const [begin, end] = ['<!-- measured: begin -->', '<!-- measured: end -->'];
const report = readJson<Report>('dist/mutation/report.json');
const coverage = new Map(
  Object.entries(readJson<Coverage>('dist/mutation/coverage/coverage-summary.json')).map(
    ([file, { lines }]) => [relative(process.cwd(), file), lines.pct],
  ),
);

const rows: string[] = [];
const survivors: string[] = [];
let [killedOfAll, ofAll] = [0, 0];
for (const [file, { source, mutants }] of Object.entries(report.files).toSorted(([a], [b]) =>
  a < b ? -1 : 1,
)) {
  const judged = mutants.filter(
    ({ status }) => !['CompileError', 'RuntimeError', 'Ignored'].includes(status),
  );
  const alive = judged.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const killed = judged.length - alive.length;
  [killedOfAll, ofAll] = [killedOfAll + killed, ofAll + judged.length];
  if (judged.length === 0) continue;
  rows.push(
    `| \`${file}\` | ${percent(coverage.get(file) ?? 0)} | ${killed} of ${judged.length} | ${share(killed, judged.length)} |`,
  );
  const lines = source.split('\n');
  for (const mutant of alive) {
    const { line } = mutant.location.start;
    const code = (lines[line - 1] ?? '').trim();
    survivors.push(
      `- \`${file}:${line}\` ${mutant.mutatorName} → ${quoted(mutant.replacement ?? '')}: ${quoted(code)}`,
    );
  }
}

const measured = [
  begin,
  '',
  '| file | lines reached, % | mutants found | score, % |',
  '| --- | ---: | ---: | ---: |',
  ...rows,
  `| all | | ${killedOfAll} of ${ofAll} | ${share(killedOfAll, ofAll)} |`,
  '',
  `## The ${survivors.length} that no test finds`,
  '',
  ...survivors,
  '',
  end,
].join('\n');
const text = readFileSync(page, 'utf8');
writeFileSync(
  page,
  text.slice(0, text.indexOf(begin)) + measured + text.slice(text.indexOf(end) + end.length),
);
console.log(`${page}: ${killedOfAll} of ${ofAll} mutants found (${share(killedOfAll, ofAll)} %)`);

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function share(part: number, whole: number): string {
  return percent((100 * part) / whole);
}

function percent(value: number): string {
  return value.toFixed(1);
}

/** One line of code with enough backticks around it. */
function quoted(code: string): string {
  const line = code.replace(/\s+/g, ' ').slice(0, 100);
  return line.includes('`') ? `\`\` ${line} \`\`` : `\`${line}\``;
}
