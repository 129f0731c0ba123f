import { randomUUID } from 'node:crypto';

/** The commit that every figure is about: one upsert of 0.9 kB, one outbox event, its receipt and its revision. */
export const DOCUMENTS = 5_000;
export const TENANT = 'bench';
const TEXT = 'x'.repeat(850);

export function documentId(index: number): string {
  return `document-${index}`;
}

export function randomDocument(documents = DOCUMENTS): string {
  return documentId(Math.floor(Math.random() * documents));
}

export function upsert(id: string) {
  const data = { text: TEXT, number: Math.floor(Math.random() * 1e6) };
  return {
    operation: 'upsert',
    document: { tenantId: TENANT, documentType: 'bench', id, schemaVersion: '1', data },
  };
}

export function commitBody(key: string = randomUUID()) {
  const id = randomDocument();
  return {
    tenantId: TENANT,
    idempotencyKey: key,
    mutations: [upsert(id)],
    outbox: [{ topic: 'bench', key: id, payload: { id } }],
  };
}
