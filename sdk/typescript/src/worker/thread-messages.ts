import type { Proof, RenewalNews } from './renewer.ts';

/** What the thread that renews leases is made with. */
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
  /** That fresh credentials are of use: those who give them are on the other side. */
  | { readonly kind: 'wanted' }
  | { readonly kind: 'left'; readonly question: number; readonly leftMs: number | null };
