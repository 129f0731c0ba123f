import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { McpResourceTemplate } from '../catalog.ts';

const DOCUMENT_TTL_MS = 60_000;

const TEMPLATE = 'svc://tools/{name}/v1';

/** The resource that describes the rare arguments of a tool. All tools share one template. */
export function advancedTemplate(tool: string, advanced: JsonObject): McpResourceTemplate {
  const uri = TEMPLATE.replace('{name}', tool);
  const text = JSON.stringify({ tool, advanced });
  return {
    definition,
    read: (asked) =>
      Promise.resolve(
        asked === uri
          ? {
              resultType: 'complete',
              contents: [{ uri, mimeType: definition.mimeType, text }],
              ttlMs: DOCUMENT_TTL_MS,
              // The caller may be one of few that have the tool.
              cacheScope: 'private',
            }
          : null,
      ),
  };
}

const definition = {
  uriTemplate: TEMPLATE,
  name: 'advanced',
  title: 'Rare arguments of a tool',
  description: 'The schema of the argument `advanced` of the tool with this name.',
  mimeType: 'application/schema+json',
};
