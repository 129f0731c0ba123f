import type { Figures } from './measure.ts';

const [begin, end] = ['<!-- measured: begin -->', '<!-- measured: end -->'];
const heading = [
  '| room | mutants | found | score, % | lines reached, % | measured |',
  '| --- | ---: | ---: | ---: | ---: | --- |',
];

export const score = ({ found, mutants }: Pick<Figures, 'found' | 'mutants'>) =>
  mutants === 0 ? 100 : (100 * found) / mutants;

/**
 * The rows of the page's table by room. A figure says the version, the commit and the day that it is of.
 * @testonly
 */
export function rowsOf(page: string): ReadonlyMap<string, string> {
  const table = page.slice(page.indexOf(begin), page.indexOf(end));
  return new Map([...table.matchAll(/^\| `([^`]+)` \|.*$/gm)].map(([row, room = '']) => [room, row]));
}

/** The page with a row for each room: the new figures if measured now, else the row of before, else "not measured yet". */
export function pageWith(page: string, rooms: readonly string[], measured: readonly Figures[]): string {
  const kept = rowsOf(page);
  const rows = rooms.map((room) => {
    const figures = measured.find((each) => each.room === room);
    return figures === undefined
      ? (kept.get(room) ?? `| \`${room}\` | | | | | not measured yet |`)
      : rowOf(figures);
  });
  const table = [begin, '', ...heading, ...rows, '', end].join('\n');
  return page.slice(0, page.indexOf(begin)) + table + page.slice(page.indexOf(end) + end.length);
}

function rowOf(figures: Figures): string {
  const { room, mutants, found, linesPercent, version, commit, day } = figures;
  const cells = [`\`${room}\``, mutants, found, score(figures).toFixed(1), linesPercent.toFixed(1)];
  return `| ${[...cells, `${day}, ${version} at ${commit}`].join(' | ')} |`;
}
