/**
 * The API reference for browsers: one file of the package that it is published in, kept in `functions/docs` compressed.
 * As a dependency the package would add 271 others, 290 MB, to every installation, although this one file holds their code.
 * `scripts/docs-reference.ts` fetches it; a test compares the file with these values.
 */
export const reference = {
  package: '@scalar/api-reference',
  version: '1.72.1',
  /** Integrity of the package, as a lockfile records it. */
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  /** The file in the package. */
  source: 'dist/browser/standalone.js',
  /** Hash of that file. */
  sha256: 'bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c',
  /** The compressed file in `functions/docs`. */
  file: 'reference.js.gz',
} as const;
