/** Seeds that once found something, or come close to it: they run with every change. Add one line for each find. */
export const REGRESSION_SEEDS: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 3, why: 'an acknowledgement with a token that was replaced' },
  { seed: 8, why: 'a reply of the store lost between two writers of one document' },
  { seed: 16, why: 'a release at the very moment of the expiry' },
];
