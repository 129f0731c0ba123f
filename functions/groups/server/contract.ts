import type { OpenApiDocument } from '../../../contracts/generated/models.ts';
import { fixedDocument } from '../../http/fixed-document.ts';
import type { Handler } from '../../http/handler.ts';
import type { ServerDependencies } from './dependencies.ts';

/** The OpenAPI document of the served operations: without the canonical routes where the store is disabled. */
export function getOpenApiContract(dependencies: ServerDependencies): Handler<'getOpenApiContract'> {
  const { documents, canonical } = dependencies;
  let served: OpenApiDocument | undefined;
  return async () => {
    const document = await documents.openApi();
    served ??= fixedDocument(canonical === null ? withoutCanonical(document) : document);
    return { status: 200, body: served };
  };
}

export function getPublicSchemaContract({
  documents,
}: ServerDependencies): Handler<'getPublicSchemaContract'> {
  return async () => ({ status: 200, body: fixedDocument(await documents.schemas()) });
}

function withoutCanonical(document: OpenApiDocument): OpenApiDocument {
  const served = Object.entries(document.paths).filter(([path]) => !/^\/canonical(\/|$)/.test(path));
  return { ...document, paths: Object.fromEntries(served) };
}
