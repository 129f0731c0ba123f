/** The table of clients in `docs/mcp.md`. */

export interface Row {
  readonly client: string;
  readonly version: string;
  readonly mode: string;
  /** The revision of its calls; empty where it made none. */
  readonly revision: string;
  readonly outcome: string;
}

const BEGIN = '<!-- clients: begin -->';
const END = '<!-- clients: end -->';
const HEAD = '| Client | Version | Mode | Revision of its calls | Outcome |\n|---|---|---|---|---|';

export function rowsOf(page: string): readonly Row[] {
  const lines = partsOf(page).table.split('\n').slice(HEAD.split('\n').length);
  return lines.map((line) => {
    const [client = '', version = '', mode = '', revision = '', outcome = ''] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { client, version, mode, revision, outcome };
  });
}

export function withRows(page: string, rows: readonly Row[]): string {
  const { before, after } = partsOf(page);
  return `${before}${[HEAD, ...rows.map(lineOf)].join('\n')}${after}`;
}

/** The rows of the page, with those of this run in their places. Rows that neither this run nor `known` has are left out. */
export function mergedRows(
  page: readonly Row[],
  run: readonly Row[],
  known: readonly Pick<Row, 'client' | 'version' | 'mode'>[],
): readonly Row[] {
  return known.flatMap((place) => {
    const row = find(run, place) ?? find(page, place);
    return row === undefined ? [] : [row];
  });
}

/** The lines in which the page and the run differ. */
export function differences(page: readonly Row[], expected: readonly Row[]): readonly string[] {
  const [there, wanted] = [page.map(lineOf), expected.map(lineOf)];
  return [
    ...there.filter((line) => !wanted.includes(line)).map((line) => `- ${line}`),
    ...wanted.filter((line) => !there.includes(line)).map((line) => `+ ${line}`),
  ];
}

function find(rows: readonly Row[], place: Pick<Row, 'client' | 'version' | 'mode'>): Row | undefined {
  return rows.find(
    ({ client, version, mode }) =>
      client === place.client && version === place.version && mode === place.mode,
  );
}

function lineOf({ client, version, mode, revision, outcome }: Row): string {
  return `| ${[client, version, mode, revision, outcome].join(' | ')} |`;
}

function partsOf(page: string): { readonly before: string; readonly table: string; readonly after: string } {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error('the page has no place for the table of clients');
  const start = begin + BEGIN.length;
  const table = page.slice(start, end);
  return { before: `${page.slice(0, start)}\n\n`, table: table.trim(), after: `\n\n${page.slice(end)}` };
}
