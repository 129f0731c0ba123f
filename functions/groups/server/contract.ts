import type { OpenApiDocument } from '../../../contracts/generated/models.ts';
import type { Handler } from '../../http/handler.ts';
import type { ServerDependencies } from './dependencies.ts';

/** The OpenAPI document of the served operations: without the canonical routes where the store is disabled. */
export function getOpenApiContract(dependencies: ServerDependencies): Handler<'getOpenApiContract'> {
  const { documents, canonical } = dependencies;
  return async () => {
    const document = await documents.openApi();
    return { status: 200, body: canonical === null ? withoutCanonical(document) : document };
  };
}

export function getPublicSchemaContract({
  documents,
}: ServerDependencies): Handler<'getPublicSchemaContract'> {
  return async () => ({ status: 200, body: await documents.schemas() });
}

function withoutCanonical(document: OpenApiDocument): OpenApiDocument {
  const served = Object.entries(document.paths).filter(([path]) => !/^\/canonical(\/|$)/.test(path));
  return { ...document, paths: Object.fromEntries(served) };
}
