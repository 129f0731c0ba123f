import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../functions/store/firestore/indexes.ts';

/** The indexes that the queries of the store need, against those that are deployed. */

interface IndexFile {
  readonly indexes: readonly object[];
  readonly fieldOverrides: readonly (object & {
    readonly collectionGroup: string;
    readonly fieldPath: string;
  })[];
}

export function indexFaults(folder: string): string[] {
  const deployed = JSON.parse(readFileSync(join(folder, 'firestore.indexes.json'), 'utf8')) as IndexFile;
  const needed: IndexFile = firestoreIndexes(serviceCollections);
  const texts = ({ indexes, fieldOverrides }: IndexFile) =>
    [...indexes, ...fieldOverrides].map((entry) => JSON.stringify(entry));
  const [have, want] = [new Set(texts(deployed)), new Set(texts(needed))];
  return [
    ...[...want].filter((text) => !have.has(text)).map((text) => `firestore.indexes.json lacks ${text}`),
    ...[...have].filter((text) => !want.has(text)).map((text) => `no query needs ${text}`),
  ];
}

/** The fields that Terraform must create, as `infra/database.tf` keys them, with the number of their indexes. */
export function neededFields(): Readonly<Record<string, number>> {
  const { fieldOverrides } = firestoreIndexes(serviceCollections);
  return Object.fromEntries(
    fieldOverrides.map(({ collectionGroup, fieldPath, indexes }) => [
      `${collectionGroup}/${fieldPath}`,
      indexes.length,
    ]),
  );
}

/** The composite indexes that Terraform must create, as `infra/database.tf` keys them, with the length of their vectors or 0. */
export function neededComposites(): Readonly<Record<string, number>> {
  const { indexes } = firestoreIndexes(serviceCollections);
  return Object.fromEntries(
    indexes.map(({ collectionGroup, queryScope, fields }) => {
      const parts = fields.map((field) => {
        const kind = 'order' in field ? field.order : 'arrayConfig' in field ? field.arrayConfig : 'VECTOR';
        return `${field.fieldPath} ${kind}`;
      });
      const vector = fields.find((field) => 'vectorConfig' in field);
      return [`${collectionGroup}/${queryScope}/${parts.join()}`, vector?.vectorConfig.dimension ?? 0];
    }),
  );
}
