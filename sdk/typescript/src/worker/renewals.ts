import type { Proof, RenewalNews } from './renewer.ts';

/** The events of a lease, for the attempt that holds it. */
export interface LeaseListener {
  /** The lease is valid for `leftMs` from now. */
  renewed(leftMs: number): void;
  cancelled(): void;
  lost(): void;
  failed(why: string): void;
}

export interface KeptLease {
  /** The rest of the lease, as the renewal knows it; `null` if it is lost. */
  leftMs(): Promise<number | null>;
  drop(): void;
}

/** Renews leases, from a thread of its own or from this one. */
export interface Renewals {
  /** Gets ready to renew, before the worker leases a run. */
  prepare(): Promise<void>;
  keep(proof: Proof, leftMs: number, listener: LeaseListener): Promise<KeptLease>;
  /** Stops all renewals. */
  close(): Promise<void>;
}

export function passOn(listener: LeaseListener | undefined, news: RenewalNews): void {
  if (news.kind === 'renewed') listener?.renewed(news.leftMs);
  else if (news.kind === 'failed') listener?.failed(news.why);
  else listener?.[news.kind]();
}
