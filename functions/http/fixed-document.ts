import { createHash } from 'node:crypto';

/**
 * A JSON answer that never changes while the process runs, such as the contract. Its bytes are made once and shared by
 * all requests: repeated requests of a stranger cost neither time nor memory.
 */
export interface FixedBytes {
  readonly content: Uint8Array;
  /** A strong entity tag with its quotes. */
  readonly etag: string;
}

const documents = new WeakMap<object, FixedBytes | null>();

export function fixedDocument<T extends object>(document: T): T {
  if (!documents.has(document)) documents.set(document, null);
  return document;
}

export function isFixedDocument(body: unknown): boolean {
  return typeof body === 'object' && body !== null && documents.has(body);
}

/** The bytes of a document that is fixed, made by `write` the first time; `null` for every other body. */
export function fixedBytesOf(body: unknown, write: (body: object) => string): FixedBytes | null {
  if (typeof body !== 'object' || body === null) return null;
  const known = documents.get(body);
  if (known !== null) return known ?? null;
  const made = fixedBytes(write(body));
  documents.set(body, made);
  return made;
}

export function fixedBytes(text: string | Uint8Array): FixedBytes {
  const content = Buffer.from(text);
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 27);
  return { content, etag: `"${hash}"` };
}
