import { VectorValue } from '@google-cloud/firestore';
import { StoreError } from '../port.ts';
import type { FirestoreValue, StoredFields } from './layout.ts';

/**
 * The size of a write, calculated before it is sent: Firestore refuses a too large request only after the transfer, and
 * the client library retries that refusal for ten minutes.
 */
export interface Weight {
  /** Bytes of the request message. */
  readonly message: number;
  /** Bytes of the index entries that the write adds and removes. */
  readonly index: number;
  /** Bytes of the stored document, as far as this write knows it. */
  readonly document: number;
}

export interface Limits {
  readonly messageBytesMax: number;
  /** Message and index entries together. */
  readonly commitBytesMax: number;
}

/** https://firebase.google.com/docs/firestore/quotas */
const documentBytesMax = 1024 * 1024;

/** Bytes of the map in which a vector is stored, without its numbers. */
const vectorFramingBytes = 32;

/** Tag, length and type bytes around one field, at the most. */
const framingBytes = 20;

export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** https://firebase.google.com/docs/firestore/storage-size */
export function documentBytes(path: string, fields: StoredFields): number {
  return nameBytes(path) + storedBytes(fields) + 32;
}

function nameBytes(path: string): number {
  return path.split('/').reduce((sum, segment) => sum + utf8Bytes(segment) + 1, 16);
}

export function storedBytes(value: FirestoreValue): number {
  if (value === null || typeof value === 'boolean') return 1;
  if (typeof value === 'number') return 8;
  if (typeof value === 'string') return utf8Bytes(value) + 1;
  if (value instanceof Uint8Array) return value.byteLength;
  if (value instanceof VectorValue) return vectorFramingBytes + 8 * value.toArray().length;
  if (isList(value)) return value.reduce((sum, text) => sum + utf8Bytes(text) + 1, 0);
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + utf8Bytes(name) + 1 + storedBytes(member),
    0,
  );
}

/** One entry of these bytes. */
export function entryBytes(path: string, valueBytes: number): number {
  return nameBytes(path) + nameBytes(parentOf(path)) + 34 + valueBytes;
}

/** One entry a direction for every member of an indexed map. */
export function indexBytes(
  path: string,
  field: string,
  map: Readonly<Record<string, string>>,
  directions: number,
): number {
  const fixed = entryBytes(path, utf8Bytes(field));
  let sum = 0;
  for (const [name, value] of Object.entries(map)) sum += fixed + utf8Bytes(name) + utf8Bytes(value) + 1;
  return sum * directions;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.lastIndexOf('/') - 1));
}

/** An upper bound of the protocol buffer of one write; `root` is the length of the database's own name. */
export function messageBytes(path: string, fields: StoredFields, root: number): number {
  return root + utf8Bytes(path) + encodedBytes(fields) + 4 * framingBytes;
}

function encodedBytes(value: FirestoreValue): number {
  if (typeof value === 'string') return utf8Bytes(value) + framingBytes;
  if (value instanceof Uint8Array) return value.byteLength + framingBytes;
  if (value === null || typeof value !== 'object') return framingBytes;
  if (value instanceof VectorValue)
    return vectorFramingBytes + 2 * framingBytes + 11 * value.toArray().length;
  if (isList(value)) return value.reduce((sum, text) => sum + utf8Bytes(text) + 8, framingBytes);
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + utf8Bytes(name) + framingBytes + encodedBytes(member),
    framingBytes,
  );
}

function isList(value: FirestoreValue): value is readonly string[] {
  return Array.isArray(value);
}

export function assertFits(weights: readonly Weight[], limits: Limits): void {
  let message = 0;
  let index = 0;
  for (const weight of weights) {
    message += weight.message;
    index += weight.index;
    if (weight.document > documentBytesMax) {
      throw new StoreError('too_large', `a record of ${weight.document} bytes exceeds ${documentBytesMax}`);
    }
  }
  if (message > limits.messageBytesMax) {
    throw new StoreError('too_large', `a commit of ${message} bytes exceeds ${limits.messageBytesMax}`);
  }
  if (message + index > limits.commitBytesMax) {
    const parts = `${message} bytes and ${index} bytes of index entries`;
    throw new StoreError('too_large', `a commit of ${parts} exceeds ${limits.commitBytesMax}`);
  }
}
