/**
 * `npm run quality` measures every room of `test/mutation/rooms.ts`, one after the other. It goes on with an interrupted run: a
 * room with figures of this commit is not measured again. Then it writes the figures by room into `docs/quality.md`, and the
 * mutants that no test finds into `dist/mutation/survivors.md`. `npm run quality -- <room>...` measures only these.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { rooms } from '../test/mutation/rooms.ts';
import { currentCommit, type Figures, lastFigures, measure } from './mutation/measure.ts';
import { pageWith, score } from './mutation/page.ts';

/** A room below this fails the run; the aim is 90. */
const BREAK = 85;
const page = 'docs/quality.md';
const all = Object.keys(rooms);
const wanted = process.argv.length > 2 ? process.argv.slice(2) : all;
const commit = currentCommit();

const failed: string[] = [];
for (const [at, room] of wanted.entries()) {
  const kept = lastFigures(room);
  const isKept = kept?.commit === commit && !commit.endsWith('+');
  console.log(`${room}, ${at + 1} of ${wanted.length}${isKept ? ': figures of this commit are there' : ''}`);
  try {
    const figures = isKept ? kept : measure(room);
    console.log(`${room}: ${figures.found} of ${figures.mutants} found, ${score(figures).toFixed(1)} %`);
    if (score(figures) < BREAK) failed.push(`${room} is below ${BREAK} %`);
  } catch (error) {
    failed.push(`${room} was not measured: ${String(error)}`);
  }
}

const measured = all.map(lastFigures).filter((each): each is Figures => each !== undefined);
// Figures of changed files have no commit by which a reader could find them again.
const ofCommits = measured.filter((each) => !each.commit.endsWith('+'));
writeFileSync(page, pageWith(readFileSync(page, 'utf8'), all, ofCommits));
writeFileSync(
  'dist/mutation/survivors.md',
  measured
    .flatMap(({ room, commit: of, survivors }) => [`# ${room}, at ${of}`, '', ...survivors, ''])
    .join('\n'),
);
if (failed.length > 0) {
  console.error(failed.join('\n'));
  process.exitCode = 1;
}
