import { columnsThatFit, shortenedRows } from '../columns.ts';
import { resultText, textTable } from '../output.ts';
import { printableValues, shortened } from '../remote/printable.ts';

const cellLengthMax = 60;

/**
 * Formats an answer for people: a list as one line per item, anything else as one line per member. Members beside a
 * list, such as the next page's token, follow it. Tenant data cannot move the cursor. A list fits `widthMax` characters: it
 * shows the most useful columns, and names the others below.
 */
export function answerTable(received: unknown, widthMax = Number.POSITIVE_INFINITY): string {
  const answer = printableValues(received);
  const { list, rest } = listIn(answer);
  if (list === undefined) return wholeText(answer);
  const below = Object.keys(rest).length === 0 ? '' : `\n\n${resultText('table', rest)}`;
  if (list.length === 0) return `(none)${below}`;
  const items = list.map(itemOf);
  const { columns, hidden } = columnsThatFit(items, (column, item) => cell(item[column]), widthMax);
  const rows = items.map((item) => columns.map((column) => cell(item[column])));
  const table = textTable(shortenedRows([columns.map(headingOf), ...rows], widthMax, shortened));
  const left = [...leftOut(list[0], items[0]), ...hidden];
  const note = left.length === 0 ? '' : `\n\nNot shown: ${left.join(', ')}. --output json shows all.`;
  return `${table}${note}${below}`;
}

type Members = Readonly<Record<string, unknown>>;

/** The match of a search holds a whole record: its line says which one it is. A compared variant shows what was measured. */
function itemOf(item: Members): Members {
  const { metrics } = item;
  if (isObject(metrics) && typeof metrics['hitRate'] === 'number') return measuredItem(item, metrics);
  const { record, score, collection } = item;
  if (!isObject(record) || typeof score !== 'number') return item;
  const { partitionKey, id, type } = record;
  // Only a retrieval asks several collections.
  return { score, ...(collection === undefined ? {} : { collection }), partitionKey, id, type };
}

const measures = ['hitRate', 'meanReciprocalRank', 'meanPrecisionAtK', 'meanRecallAtK', 'meanNdcgAtK'];

function measuredItem({ id, status }: Members, metrics: Members): Members {
  const shown = [...measures, 'hardNegativeHitRate'].map((name) => {
    const value = metrics[name];
    return [
      name.replace(/^mean/, '').replace(/AtK$/, ''),
      typeof value === 'number' ? value.toFixed(3) : value,
    ];
  });
  return { id, status, ...(Object.fromEntries(shown) as Members) };
}

function leftOut(item: Members = {}, shown: Members = {}): readonly string[] {
  return Object.keys(item).filter((name) => !Object.hasOwn(shown, name));
}

function wholeText(answer: unknown): string {
  if (isObject(answer)) return `${resultText('table', answer)}${firstFailure(answer)}`;
  if (Array.isArray(answer) && answer.length === 0) return '(none)';
  return JSON.stringify(answer);
}

/** A batch succeeds although items of it failed: the first of them stands alone below its long list. */
function firstFailure(answer: Members): string {
  for (const value of Object.values(answer)) {
    if (isObject(value)) {
      const below = firstFailure(value);
      if (below !== '') return below;
    }
    if (!isListOfObjects(value)) continue;
    const failed = value.find(({ status, error }) => status === 'failed' && typeof error === 'string');
    if (failed !== undefined)
      return `\n\nThe first failed item: index ${cell(failed['index'])}, ${String(failed['error'])}`;
  }
  return '';
}

/** The list of objects that the answer is, or that it holds beside plain values only. */
function listIn(answer: unknown): { list: readonly Members[] | undefined; rest: Members } {
  if (isListOfObjects(answer)) return { list: answer, rest: {} };
  if (!isObject(answer)) return { list: undefined, rest: {} };
  const entries = Object.entries(answer);
  const nested = entries.filter(([, value]) => typeof value === 'object' && value !== null);
  const [only] = nested;
  if (only === undefined || nested.length > 1 || !Array.isArray(only[1]))
    return { list: undefined, rest: {} };
  if (only[1].length > 0 && !isListOfObjects(only[1])) return { list: undefined, rest: {} };
  return {
    list: only[1] as readonly Members[],
    rest: Object.fromEntries(entries.filter((entry) => entry !== only)),
  };
}

function isListOfObjects(value: unknown): value is readonly Members[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), cellLengthMax);
}

/** `contentHash` is `CONTENT HASH`. */
function headingOf(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();
}
