/** Chooses and shortens the columns of a table, so that it fits a terminal. */

type Members = Readonly<Record<string, unknown>>;

/** Between two columns. */
const GAP = 2;
/** No cell is shortened below this length. */
const CELL_LENGTH_MIN = 12;
/** A person looks for these first: they stay while another column can go. */
const kept = new Set(['id', 'kind', 'status', 'state', 'key']);

export interface ChosenColumns {
  readonly columns: readonly string[];
  /** The columns without a place. */
  readonly hidden: readonly string[];
}

/**
 * The columns that fit `widthMax`. Columns go in this order until the others fit: those without any value, hashes and
 * tokens, those with one value in all rows, then objects and lists, then the rest; each time the rightmost first.
 */
export function columnsThatFit(
  rows: readonly Members[],
  textOf: (column: string, row: Members) => string,
  widthMax: number,
): ChosenColumns {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const left = new Set(all);
  const needed = (column: string) =>
    Math.min(CELL_LENGTH_MIN, Math.max(column.length, ...rows.map((row) => textOf(column, row).length)));
  const fits = () => widthOf([...left].map(needed)) <= widthMax;
  const full = (column: string) =>
    Math.max(column.length + wordsIn(column), ...rows.map((row) => textOf(column, row).length));
  const fitsInFull = () => widthOf([...left].map(full)) <= widthMax;
  const drop = (isDropped: (column: string) => boolean, enough: () => boolean) => {
    for (const column of all.toReversed()) {
      if (enough() || left.size === 1) return;
      if (left.has(column) && !kept.has(column) && isDropped(column)) left.delete(column);
    }
  };
  const valuesOf = (column: string) => rows.map((row) => row[column] ?? null);
  drop((column) => valuesOf(column).every((value) => value === null), fitsInFull);
  drop((column) => /(?:Hash|Token)$/.test(column), fitsInFull);
  drop((column) => rows.length > 1 && new Set(valuesOf(column).map(asText)).size === 1, fitsInFull);
  drop((column) => valuesOf(column).some((value) => typeof value === 'object' && value !== null), fitsInFull);
  drop(() => true, fits);
  return { columns: [...left], hidden: all.filter((column) => !left.has(column)) };
}

/** The rows with their widest cells shortened until a line fits `widthMax`. */
export function shortenedRows(
  rows: readonly (readonly string[])[],
  widthMax: number,
  shorten: (text: string, lengthMax: number) => string,
): readonly (readonly string[])[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  while (widthOf(widths) > widthMax) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= CELL_LENGTH_MIN) break;
    widths[widest] = width - 1;
  }
  return rows.map((row) => row.map((cell, column) => shorten(cell, widths[column] ?? cell.length)));
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, widths.length - 1);
}

/** A heading has a space before each word of the name but the first. */
function wordsIn(name: string): number {
  return name.match(/(?<=[a-z0-9])[A-Z]/g)?.length ?? 0;
}

function asText(value: unknown): string {
  return JSON.stringify(value);
}
