/** The header fields of a request as an identity method sees them, by lower-case name. */
export interface CredentialHeaders {
  get(name: string): string | undefined;
  /**
   * Whether the request holds the field several times, so that its value is a list. Requests with a repeated known
   * credential are refused earlier. Absent where no field repeats.
   */
  repeats?(name: string): boolean;
}

/** The token of an `Authorization: Bearer` value (RFC 6750; the scheme in any case), or `undefined`. */
export function bearerToken(value: string | undefined): string | undefined {
  if (value === undefined || !/^bearer /i.test(value)) return undefined;
  const token = value.slice('bearer '.length).trim();
  return token === '' ? undefined : token;
}
