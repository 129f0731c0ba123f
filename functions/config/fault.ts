/** One fault of the configuration. It never holds a secret: only values of settings that are not secret are quoted. */
export interface Fault {
  /** The documented key, or the unknown key as written. */
  readonly key: string;
  /** The source of the value: a file name, `environment variable X`, `command line`, or `default`. */
  readonly source: string;
  readonly message: string;
}

/** Whether the fault is of a whole file or of the command line, not of a setting in it. */
export function isOfFile({ key, source }: Pick<Fault, 'key' | 'source'>): boolean {
  return key === source;
}

/** One fault as a line: its key and its source, or the file, and the fault. */
export function faultLine(fault: Fault): string {
  const { key, source, message } = fault;
  return `${key}${isOfFile(fault) ? '' : ` (${source})`}: ${message}`;
}

/** All faults as one text, one per line. */
export function faultsText(faults: readonly Fault[]): string {
  const lines = faults.map((fault) => `  ${faultLine(fault)}`);
  return `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${lines.join('\n')}`;
}
