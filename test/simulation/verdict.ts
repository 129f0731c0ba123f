/** An outbox event as the specification describes it, in milliseconds since 1970. */
export interface EventModel {
  readonly id: string;
  readonly topic: string;
  readonly max: number | null;
  readonly state: 'open' | 'leased' | 'delivered' | 'dead';
  readonly notBefore: number | null;
  readonly count: number;
  readonly expiry: number | null;
  readonly tokenHash: string | null;
}

/** The required state of one document, fence or event after a write. */
export interface DocumentEffect {
  readonly documentType: string;
  readonly id: string;
  readonly revision: number;
  readonly deleted: boolean;
  readonly dataText: string | null;
}

export interface FenceEffect {
  readonly name: string;
  readonly value: string;
  /** `null`: the fence is free. */
  readonly owner: string | null;
}

/** The verdict of the model on a call in its current state. */
export type Verdict =
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'replayed'; readonly result: string }
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'commit';
      readonly documents: readonly DocumentEffect[];
      readonly fences: readonly FenceEffect[];
      readonly events: readonly EventModel[];
    }
  | { readonly kind: 'event'; readonly event: EventModel };

export function refused(code: string): Verdict {
  return { kind: 'refused', code };
}
