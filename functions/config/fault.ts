/** One thing wrong with the configuration. Holds no secret: values are quoted only where the setting is none. */
export interface Fault {
  /** The key as it is documented, or as it was written where nothing is known under it. */
  readonly key: string;
  /** Who said so: a file name, `environment variable X`, `command line`, or `default`. */
  readonly source: string;
  readonly message: string;
}

/** All faults as one text for people, a line each. */
export function faultsText(faults: readonly Fault[]): string {
  const lines = faults.map((fault) => `  ${fault.key} (${fault.source}): ${fault.message}`);
  return `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${lines.join('\n')}`;
}
