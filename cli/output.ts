import { CommanderError, Option } from 'commander';
import { printable } from './remote/printable.ts';

/**
 * How a command ends. A damaged archive and a hash that differs are `failed`; `auth` is a credential that is missing or not
 * enough; `unavailable` is a database or a service that did not answer, so that trying again can help.
 *
 * A command that a signal ended has 128 and the signal's number instead, as shells count: 130, 143.
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

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A command that ends otherwise than well. The message is for people: a line, and nothing in it is secret. */
export class ToolError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolError';
    this.exitCode = exitCode;
  }
}

/** Data, to standard output. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** As `say`; tells whether it arrived. */
export function said(text: string): Promise<boolean> {
  return new Promise((done) => {
    process.stdout.write(`${text}\n`, (error) => done(error === null || error === undefined));
  });
}

/** Everything else, to standard error. */
export function warn(text: string): void {
  process.stderr.write(`${text}\n`);
}

export type OutputForm = 'table' | 'json';

/** `--output table|json`. */
export function outputOption(): Option {
  return new Option('--output <form>', 'how the result is printed')
    .choices(['table', 'json'] satisfies OutputForm[])
    .default('table' satisfies OutputForm);
}

/** Columns as wide as their longest cell; the last one as it is. */
export function textTable(rows: readonly (readonly string[])[]): string {
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
 * What one command found, as text: JSON for programs, with its members as they are; for people a line each, nested members
 * under their path. Ends without a line feed.
 */
export function resultText(form: OutputForm, result: Readonly<Record<string, unknown>>): string {
  if (form === 'json') return JSON.stringify(result, null, 2);
  return textTable(lines(result, ''));
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
export function sayResult(form: OutputForm, result: Readonly<Record<string, unknown>>): void {
  say(resultText(form, result));
}

/** How the process ends after `error`, and what it says; `null` where commander has said it. */
export interface Ending {
  readonly exitCode: number;
  readonly message: string | null;
}

/** What turns an error of another part into the tool's words; `undefined` passes it to the next. */
export type Translation = (error: unknown) => ToolError | undefined;

export function endingOf(error: unknown, translations: readonly Translation[] = []): Ending {
  if (error instanceof CommanderError) {
    // Help and version are what was asked for; the rest is a command line that cannot be understood.
    return { exitCode: error.exitCode === 0 ? exitCodes.ok : exitCodes.usage, message: null };
  }
  for (const translate of [own, ...translations]) {
    const known = translate(error);
    // Line feeds in it are the tool's own.
    if (known !== undefined) return { exitCode: known.exitCode, message: printable(known.message, '\n') };
  }
  const message = error instanceof Error ? error.message : String(error);
  const line = printable(message.replace(/\s+/g, ' ').trim());
  return { exitCode: exitCodes.failed, message: line || 'failed for an unknown reason' };
}

function own(error: unknown): ToolError | undefined {
  return error instanceof ToolError ? error : undefined;
}

/** The stack of an error and of what caused it, for `--verbose`. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
