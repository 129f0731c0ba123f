import { FieldValue } from '@google-cloud/firestore';
import { protos } from '@google-cloud/firestore-api';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import type { StoredFields } from './layout.ts';
import { assertFits, documentBytes, indexBytes, messageBytes } from './size.ts';

const texts = fc.string({ unit: 'grapheme', maxLength: 60 });
const names = fc.stringMatching(/^[a-z][a-zA-Z]{0,20}$/);
const lists = fc.array(texts);
const vectors = fc.array(fc.double()).map((each) => FieldValue.vector(each));
const values = fc.oneof(
  lists,
  vectors,
  texts,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array(),
);
const fields: fc.Arbitrary<StoredFields> = fc.dictionary(
  names,
  fc.oneof(values, fc.dictionary(names, values, { noNullPrototype: true, maxKeys: 300 })),
  { noNullPrototype: true },
);

test('the calculated size of a message is never below the real one, and not far above it', async () => {
  const client = createClient({ projectId: 'a-project', emulatorHost: '127.0.0.1:1' });
  let sent = 0;
  Object.assign(client, {
    request: (_method: string, request: protos.google.firestore.v1.ICommitRequest) => {
      sent = protos.google.firestore.v1.CommitRequest.encode(request).finish().length;
      return Promise.resolve({});
    },
  });
  const path = `tenants/t-acme/generations/0/documents/${'a'.repeat(32)}`;
  const root = 160;
  await fc.assert(
    fc.asyncProperty(fields, async (document) => {
      await client.batch().create(client.doc(path), document).commit();
      const weight = messageBytes(path, document, root);
      const members = Object.values(document).reduce<number>(
        (sum, value) =>
          sum + 1 + (value !== null && typeof value === 'object' ? Object.keys(value).length : 0),
        0,
      );
      expect(weight).toBeGreaterThanOrEqual(sent);
      expect(weight).toBeLessThanOrEqual(sent + 450 + 40 * members);
    }),
  );
});

/** The example of https://firebase.google.com/docs/firestore/storage-size, word for word. */
test('documents are weighed as Firestore does', () => {
  const document = { type: 'Personal', done: false, priority: 1, description: 'Learn Cloud Firestore' };
  expect(documentBytes('users/jeff/tasks/my_task_id', document)).toBe(147);
});

test('index entries are weighed as Firestore does', () => {
  // Name 16 + 6 + 5 + 6 + 11, parent 16 + 6 + 5, field `order.k`, value, and 32.
  expect(indexBytes('users/jeff/tasks/my_task_id', 'order', { k: 'abc' }, 1)).toBe(44 + 27 + 8 + 4 + 32);
  expect(indexBytes('users/jeff/tasks/my_task_id', 'order', { k: 'abc', l: 'abc' }, 2)).toBe(4 * 115);
});

test('each bound is kept on its own', () => {
  const limits = { messageBytesMax: 100, commitBytesMax: 150 };
  const weight = { message: 50, index: 20, document: 10 };
  assertFits([weight, weight], limits);
  const tooLarge = expect.objectContaining({ failure: 'too_large' });
  expect(() => assertFits([weight, weight, { message: 1, index: 0, document: 0 }], limits)).toThrow(tooLarge);
  expect(() => assertFits([weight, weight, { message: 0, index: 11, document: 0 }], limits)).toThrow(
    tooLarge,
  );
  expect(() => assertFits([{ message: 0, index: 0, document: 1024 * 1024 + 1 }], limits)).toThrow(tooLarge);
});

test('lists of texts and vectors have the size that Firestore stores', () => {
  const empty = documentBytes('c/a', {});
  // The name of the field, and each text with one byte more.
  expect(documentBytes('c/a', { terms: ['ab', 'é'] }) - empty).toBe(6 + 3 + 3);
  const bytes = (length: number) => documentBytes('c/a', { v: FieldValue.vector(Array(length).fill(1)) });
  expect(bytes(65) - bytes(64)).toBe(8);
  expect(messageBytes('c/a', { v: FieldValue.vector(Array(64).fill(1)) }, 0)).toBeGreaterThan(64 * 11);
});
