import { CommanderError, Option } from 'commander';
import { printable } from './remote/printable.ts';

/**
 * The exit codes. `failed`: a damaged archive or a different hash; `auth`: a missing or insufficient credential;
 * `unavailable`: no answer from a database or service, so a retry can help. A command ended by a signal exits with
 * 128 plus its number, as in shells: 130, 143.
 */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  auth: 5,
  unavailable: 6,
} as const;

/** The failure of a command. The message is one line for people and holds no secret. */
export class ToolError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolError';
    this.exitCode = exitCode;
  }
}

/** Data, to standard output. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Like `printLine`; resolves with whether the text was written. */
export function tryPrint(text: string): Promise<boolean> {
  return new Promise((done) => {
    process.stdout.write(`${text}\n`, (error) => done(error === null || error === undefined));
  });
}

/** Everything else, to standard error. Foreign text in it cannot move the cursor. */
export function warn(text: string): void {
  process.stderr.write(`${printable(text, '\n')}\n`);
}

/** The width of the terminal that shows the output; unlimited where a program reads it. */
export function outputWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

export type OutputForm = 'table' | 'json';

/** `--output table|json`. */
export function outputOption(): Option {
  return new Option('--output <form>', 'how the result is printed')
    .choices(['table', 'json'] satisfies OutputForm[])
    .default('table' satisfies OutputForm);
}

/** Columns as wide as their longest cell; the last one unpadded. No cell can move the cursor or begin a line. */
export function textTable(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => printable(cell)));
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

/**
 * The result of a command as text: JSON for programs; for people one line per member, nested members under their
 * path. Without a final line feed.
 */
export function resultText(form: OutputForm, result: Readonly<Record<string, unknown>>): string {
  if (form === 'json') return jsonText(result);
  return textTable(lines(result, ''));
}

/** JSON for programs and people: control characters are escaped, and the value stays the same. */
export function jsonText(value: unknown): string {
  return printable(JSON.stringify(value, null, 2), '\n');
}

function lines(value: unknown, path: string): string[][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, member]) =>
      lines(member, path === '' ? words(name) : `${path} ${words(name)}`),
    );
  }
  return [[path, shown(value)]];
}

/** `contentHash` is `content hash`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? value.join(', ')
    : JSON.stringify(value);
}

/** Prints a result on standard output. */
export function printResult(form: OutputForm, result: Readonly<Record<string, unknown>>): void {
  printLine(resultText(form, result));
}

/** The exit code and message for `error`; `null` if commander has already printed it. */
export interface Ending {
  readonly exitCode: number;
  readonly message: string | null;
}

/** Translates an error of another part into a `ToolError`; `undefined` passes it to the next translation. */
export type Translation = (error: unknown) => ToolError | undefined;

export function endingOf(error: unknown, translations: readonly Translation[] = []): Ending {
  if (error instanceof CommanderError) {
    // Commander also throws for help and version; every other error of it is an invalid command line.
    return { exitCode: error.exitCode === 0 ? exitCodes.ok : exitCodes.usage, message: null };
  }
  for (const translate of [own, ...translations]) {
    const known = translate(error);
    // Keep line feeds: the tool wrote them.
    if (known !== undefined) return { exitCode: known.exitCode, message: printable(known.message, '\n') };
  }
  const message = error instanceof Error ? error.message : String(error);
  const line = printable(message.replace(/\s+/g, ' ').trim());
  return { exitCode: exitCodes.failed, message: line || 'failed for an unknown reason' };
}

function own(error: unknown): ToolError | undefined {
  return error instanceof ToolError ? error : undefined;
}

/** The stack of an error and of its causes, for `--verbose`. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
