/** The slots of a process at the time when an owner requests one. */
export interface SlotState {
  readonly slotsMax: number;
  /** Slots that no run uses. */
  readonly free: number;
  /** Slots that runs of the owner use. */
  readonly held: number;
  /** Whether a ready run of another owner waits, as far as the process knows. */
  readonly othersWait: () => boolean;
}

/**
 * Whether one more run of the owner may have a slot. The last free slot is reserved for an owner without one, so one
 * owner never holds all of several slots. An owner gets more than half of the slots only while no run of another owner
 * waits.
 */
export function mayHaveSlot({ slotsMax, free, held, othersWait }: SlotState): boolean {
  if (free < 1) return false;
  if (held === 0) return true;
  if (free < 2) return false;
  return held < Math.ceil(slotsMax / 2) || !othersWait();
}
