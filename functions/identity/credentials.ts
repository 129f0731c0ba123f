/** The header fields of a request as an identity method sees them: by lower-case name, each at most once. */
export interface CredentialHeaders {
  get(name: string): string | undefined;
}

/** The token of an `Authorization: Bearer` value (RFC 6750; the scheme in any case), or `undefined`. */
export function bearerToken(value: string | undefined): string | undefined {
  if (value === undefined || !/^bearer /i.test(value)) return undefined;
  const token = value.slice('bearer '.length).trim();
  return token === '' ? undefined : token;
}
