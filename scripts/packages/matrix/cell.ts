/** A user of the packed files: a runtime or a compiler, and an empty folder. */

/** The packed files by the names of their recipes. */
export type Archives = Readonly<Record<'server' | 'client' | 'dispatcher' | 'starter' | 'python', string>>;

export interface Cell {
  readonly id: string;
  /** Why the registry does not bring what the cell needs; `undefined` where it is there. */
  missing(): Promise<string | undefined>;
  /** Throws what is wrong. Gives a text for the line of the cell. */
  run(archives: Archives, server: string): Promise<string>;
}

/** The message of an installation that fails. */
export async function reasonOf(installed: Promise<unknown>): Promise<string | undefined> {
  return installed.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** Throws if a program printed other lines. */
export function same(found: string, expected: readonly string[]): void {
  if (found.trim() !== expected.join('\n'))
    throw new Error(`it printed\n${found}\nin the place of\n${expected.join('\n')}`);
}
