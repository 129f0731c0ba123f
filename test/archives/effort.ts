/** How hard the kills try: 1 on every push, more in a nightly run. */
const factor = Math.max(1, Number(process.env['SVC_ARCHIVES_FACTOR'] ?? '1'));
/** Another seed explores other moments; unset, every run tries the same ones. */
export const seed = Number(process.env['SVC_ARCHIVES_SEED'] ?? '0');

/** How long one test may take, in milliseconds. */
export const patienceMs = 180_000 * factor;

export function rounds(count: number): number {
  return Math.round(count * factor);
}

/** Of many things in a row, those to try: all of them at a high factor, else every so many, the last one included. */
export function stride(count: number, wanted: number): number {
  return Math.max(1, Math.floor(count / rounds(wanted)));
}
