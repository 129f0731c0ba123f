/** Longer names are not compared: the work grows with the product of both lengths. */
const COMPARED_MAX = 64;

/** The edit distance of two names (insertion, deletion, replacement of a character), ignoring case. */
export function distance(left: string, right: string): number {
  const a = left.toLowerCase();
  const b = right.toLowerCase();
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name that the caller probably meant; `undefined` if none is similar, or the name is too long to be a misspelling. */
export function nearName(name: string, known: readonly string[]): string | undefined {
  if (name.length > COMPARED_MAX) return undefined;
  const farMax = Math.max(2, Math.floor(name.length / 4));
  const ranked = known.map((each) => ({ each, far: distance(each, name) })).sort((a, b) => a.far - b.far);
  const [first] = ranked;
  return first !== undefined && first.far <= farMax && first.far < name.length ? first.each : undefined;
}
