/** The header fields of a request as an identity method sees them, by lower-case name. */
export interface CredentialHeaders {
  get(name: string): string | undefined;
  /**
   * Whether the field came several times and its value is a list of them all. The known credentials cannot: such a request
   * has been refused before. Absent where no field does.
   */
  repeats?(name: string): boolean;
}

/** The token of an `Authorization: Bearer` value (RFC 6750; the scheme in any case), or `undefined`. */
export function bearerToken(value: string | undefined): string | undefined {
  if (value === undefined || !/^bearer /i.test(value)) return undefined;
  const token = value.slice('bearer '.length).trim();
  return token === '' ? undefined : token;
}
