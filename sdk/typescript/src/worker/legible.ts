/** Reads a value that foreign code made, such as an error that a handler threw: its members may throw too. */
export function legible<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** The message of an error, or a text that was thrown itself; otherwise nothing. */
export function messageOf(error: unknown): string {
  return legible(() => {
    const text: unknown = error instanceof Error ? error.message : error;
    return typeof text === 'string' ? text : '';
  }, '');
}
