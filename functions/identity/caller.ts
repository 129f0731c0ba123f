/** Who is calling, as far as it was proven. */
export interface Caller {
  /**
   * - `anonymous`: no credential was asked for.
   * - `development`: the open development mode.
   * - `api-key`: a known API key, which cannot express a tenant.
   * - `workload`: a verified identity, whose `principal` the access policies name.
   */
  readonly kind: 'anonymous' | 'development' | 'api-key' | 'workload';
  /** The verified principal, or `null` where nobody was verified. */
  readonly principal: string | null;
  /** When the proof of the principal was issued, in milliseconds of the Unix epoch, where that is known. */
  readonly issuedAt?: number | null;
}
