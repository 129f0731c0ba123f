import { exitCodes, ToolError } from '../../output.ts';

/** The file of results: a line of JSON for the command, then one for each run. It continues a command that stopped. */

const FORMAT = 'svc.runs.results/1';

export type BulkAction = 'cancel' | 'rerun';

/** The first line. */
export interface BulkHeader {
  readonly format: typeof FORMAT;
  readonly action: BulkAction;
  readonly server: string;
  /** Part of the idempotency keys: a repeated start starts nothing. */
  readonly batch: string;
  /** The options that the command was given, as JSON. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The runs, as they were found once. */
  readonly ids: readonly string[];
}

export interface BulkResult {
  readonly id: string;
  /** The status of the run after its cancellation, or that of the new run; null after an error. */
  readonly status: string | null;
  /** The new run. */
  readonly newRunId?: string;
  readonly error: string | null;
}

export interface BulkFile {
  readonly header: BulkHeader;
  /** The last result of each run. */
  readonly results: ReadonlyMap<string, BulkResult>;
  /** Characters of the whole lines: a stopped write may leave a part of one. */
  readonly wholeLength: number;
}

export function headerOf(given: Omit<BulkHeader, 'format'>): BulkHeader {
  return { format: FORMAT, ...given };
}

export function lineOf(value: BulkHeader | BulkResult): string {
  return `${JSON.stringify(value)}\n`;
}

/** Reads the text of a file; `path` is for the refusal. */
export function readResults(text: string, path: string): BulkFile {
  const wholeLength = text.lastIndexOf('\n') + 1;
  const [first = '', ...lines] = text.slice(0, wholeLength).split('\n').slice(0, -1);
  const header = parsed(first) as Partial<BulkHeader> | null;
  if (header?.format !== FORMAT || !Array.isArray(header.ids))
    throw new ToolError(`${path} is no file of results of this command.`, exitCodes.conflict);
  const results = new Map<string, BulkResult>();
  for (const line of lines) {
    const result = parsed(line) as BulkResult | null;
    if (typeof result?.id !== 'string')
      throw new ToolError(`${path} holds a line that is no result.`, exitCodes.conflict);
    results.set(result.id, result);
  }
  return { header: header as BulkHeader, results, wholeLength };
}

/** The runs without a result, and those whose last one is an error. */
export function leftOf({ header, results }: Pick<BulkFile, 'header' | 'results'>): readonly string[] {
  return header.ids.filter((id) => {
    const result = results.get(id);
    return result === undefined || result.error !== null;
  });
}

/** Throws where the file belongs to another command. Options that were not given again are those of the file. */
export function checkSame(
  file: BulkHeader,
  given: Pick<BulkHeader, 'action' | 'server' | 'options'>,
  path: string,
): void {
  const refuse = (what: string): never => {
    throw new ToolError(`${path} continues another command: ${what}.`, exitCodes.conflict);
  };
  if (file.action !== given.action) refuse(`svc runs ${file.action}`);
  if (file.server !== given.server) refuse(`it was begun at ${file.server}`);
  for (const [name, value] of Object.entries(given.options)) {
    if (JSON.stringify(file.options[name]) !== JSON.stringify(value))
      refuse(`its ${name} is ${JSON.stringify(file.options[name] ?? null)}`);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
