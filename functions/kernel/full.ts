/** The refusal of a run or job for which a bound leaves no room. */
export interface Full {
  /** A sentence, with both numbers. */
  readonly detail: string;
  readonly limit: number;
  readonly used: number;
  /** The key of the setting that sets the bound; `null` if it is fixed. */
  readonly setting: string | null;
}
