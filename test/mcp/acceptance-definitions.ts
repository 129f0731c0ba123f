import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { InputRequest, ToolDefinition, ToolResult } from '../../functions/mcp/catalog.ts';

const noArguments: JsonObject = { type: 'object', additionalProperties: false };

export function definitionOf(name: string, inputSchema: JsonObject = noArguments): ToolDefinition {
  return {
    name,
    description: `Test tool ${name.replaceAll('_', ' ')}.`,
    inputSchema,
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
  };
}

export function textOf(text: string): ToolResult {
  return { resultType: 'complete', content: [{ type: 'text', text }] };
}

// One red pixel.
export const image = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
};

export function elicitation(message: string, member: string, type = 'string'): InputRequest {
  return {
    method: 'elicitation/create',
    params: {
      message,
      requestedSchema: { type: 'object', properties: { [member]: { type } }, required: [member] },
    },
  };
}
