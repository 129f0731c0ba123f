import type { Proof, RenewalNews } from './renewer.ts';

/** The start data of the renewal thread. */
export interface ThreadData {
  readonly baseUrl: string;
  readonly apiKeyHeader: string;
  readonly headers: Readonly<Record<string, string | null | undefined>>;
  readonly leaseMs: number;
  readonly everyMs: number;
}

export type ToThread =
  | { readonly kind: 'keep'; readonly id: number; readonly proof: Proof; readonly leftMs: number }
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'ask'; readonly id: number; readonly question: number }
  | { readonly kind: 'credentials'; readonly apiKey: string | null; readonly token: string | null };

export type FromThread =
  | RenewalNews
  | { readonly kind: 'ready' }
  /** Asks for fresh credentials: only the worker's thread can call their functions. */
  | { readonly kind: 'wanted' }
  | { readonly kind: 'left'; readonly question: number; readonly leftMs: number | null };
