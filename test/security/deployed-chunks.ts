/**
 * Parts of the bundle that functions load when they are first needed, and that no import of a module of theirs names: packages and
 * their parts, and files that several share. A new one is a decision: each is deployed.
 */
export const deployedChunks: readonly string[] = [
  'chunk',
  'definitions',
  'dist',
  'engine',
  'index',
  'multipart-parser',
  'ordered-id',
  'product-policy',
  'provider-guard',
  'record-parts',
  'run-watch',
  'settle',
  'src',
  'svc',
  'svc-public.schema',
];
