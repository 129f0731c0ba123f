/** A bound that leaves no room for a run or job. */
export interface Full {
  /** A sentence, with both numbers. */
  readonly detail: string;
  readonly limit: number;
  readonly used: number;
  /** The key of the setting that says so; `null` where none does. */
  readonly setting: string | null;
}
