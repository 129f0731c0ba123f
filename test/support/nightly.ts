/** How many to try: the share that runs with every change, or the full number of a nightly run. */
export function share(everyChange: number, nightly: number): number {
  return process.env['SVC_TEST_NIGHTLY'] === undefined ? everyChange : nightly;
}
