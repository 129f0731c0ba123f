import type { Proof, RenewalNews } from './renewer.ts';

/** What whoever keeps a lease is told of it. */
export interface LeaseListener {
  /** It holds for so long from now. */
  renewed(leftMs: number): void;
  cancelled(): void;
  lost(): void;
  failed(why: string): void;
}

export interface KeptLease {
  /** For how long it holds from now, as whoever renews it knows it; `null` where it is lost. */
  leftMs(): Promise<number | null>;
  drop(): void;
}

/** Keeps leases renewed, from a thread or from this one. */
export interface Renewals {
  /** Makes sure that leases can be renewed, before there is one. */
  prepare(): Promise<void>;
  keep(proof: Proof, leftMs: number, listener: LeaseListener): Promise<KeptLease>;
  /** Renews nothing any more. */
  close(): Promise<void>;
}

export function passOn(listener: LeaseListener | undefined, news: RenewalNews): void {
  if (news.kind === 'renewed') listener?.renewed(news.leftMs);
  else if (news.kind === 'failed') listener?.failed(news.why);
  else listener?.[news.kind]();
}
