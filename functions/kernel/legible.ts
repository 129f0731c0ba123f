/** Reads a value that foreign code made, such as an error that a handler threw: its members may throw too. */
export function legible<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
