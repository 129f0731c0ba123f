import type { Estimate, EstimatedLine, Product } from './estimate.ts';
import type { Input } from './options.ts';

/** The estimate for a person: the operations, then the bill. */
export function estimateText({ lines, products, dollars }: Estimate, input: Input): string {
  const { prices, region, isFree, machine } = input;
  return [
    `A month in ${region}, in US dollars (prices as of ${prices.asOf}; check them before you decide).`,
    '',
    ...table([
      ['operation', 'times', 'reads', 'writes', 'deletes', 'tasks', 'requests', '$ a million', '$'],
      ...lines.map(lineCells),
    ]),
    '',
    ...table([
      ['bill', 'amount', 'unit', 'free', '$'],
      ...products.map(productCells),
      ['total', '', '', '', money(dollars)],
    ]),
    '',
    isFree
      ? 'The free tier is taken off the bill, not off the operations. It belongs to the project or to the billing account.'
      : 'Nothing is counted as free.',
    `Assumed: ${machine.roundTripMs} ms for a call of Firestore, ${machine.concurrency} request at a time in an instance.`,
    'Not counted: data that leaves the region, backups, point-in-time recovery, secrets, your own workers.',
  ].join('\n');
}

function lineCells(line: EstimatedLine): string[] {
  const counts = [line.count, line.reads, line.writes, line.deletes, line.tasks, line.requests];
  return [line.name, ...counts.map(whole), money(line.dollarsPerMillion), money(line.dollars)];
}

function productCells({ name, amount, unit, free, dollars }: Product): string[] {
  const amountText = Number.isInteger(amount) || amount >= 100 ? whole(amount) : amount.toFixed(2);
  return [name, amountText, unit, free === 0 ? '' : whole(free), money(dollars)];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** @testonly */
export function money(value: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}
