const credentialHeaders = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-serverless-authorization',
  'x-svc-api-key',
  'x-api-key',
];

/** Whether a header of this name carries a credential. */
export function isCredentialHeader(name: string, apiKeyHeader: string): boolean {
  return [apiKeyHeader.toLowerCase(), ...credentialHeaders].includes(name.toLowerCase());
}
