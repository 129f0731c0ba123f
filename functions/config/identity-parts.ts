/** The parts of the service whose callers must prove their identity. */
export const identityParts = [
  'canonicalAccess',
  'executionAccess',
  'recordAccess',
  'providerAccess',
] as const;
