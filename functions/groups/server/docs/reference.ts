/**
 * The API reference for browsers: one file of the package that it is published in, kept in `functions/docs` as it is but
 * for gzip. As a dependency the package would bring 271 others, 290 MB, into every installation for this file, which has
 * their code in it already. `scripts/docs-reference.ts` fetches it; a test holds the file against these values.
 */
export const reference = {
  package: '@scalar/api-reference',
  version: '1.72.1',
  /** Of the package, as the lockfile of whoever installs it has it. */
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  /** The file in the package. */
  source: 'dist/browser/standalone.js',
  /** Of that file. */
  sha256: 'bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c',
  /** The same in `functions/docs`, compressed. */
  file: 'reference.js.gz',
} as const;
