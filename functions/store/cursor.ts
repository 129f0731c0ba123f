/** The position of a list's next page, as `next` carries it: the values that order the last record of the page. */
export function writeCursor(place: readonly (string | number | null)[]): string {
  return JSON.stringify(place);
}

/** The values of a cursor; the provider checks them, because a caller may hand in any text. */
export function readCursor(cursor: string): readonly unknown[] {
  let place: unknown;
  try {
    place = JSON.parse(cursor);
  } catch {
    throw cursorError();
  }
  if (!Array.isArray(place)) throw cursorError();
  return place;
}

export function cursorError(): Error {
  return new Error('`after` is not the `next` of a page of this list');
}
