import type { Caller } from '../../functions/identity/caller.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type {
  McpCatalog,
  McpResource,
  McpResourceTemplate,
  McpTool,
  ToolDefinition,
} from '../../functions/mcp/catalog.ts';
import { definitionOf, elicitation, image, textOf } from './acceptance-definitions.ts';
import { acceptancePrompts } from './acceptance-prompts.ts';
import { acceptanceRounds } from './acceptance-rounds.ts';
import { MemoryTasks, taskTools } from './acceptance-tasks.ts';

/**
 * A catalog in memory with the tools, resources and prompts that the official conformance scenarios of 2026-07-28 call by
 * name. `tasks` is the store that several instances share.
 */
export function acceptanceCatalog(tasks: MemoryTasks): McpCatalog {
  const tools = [...plainTools, ...acceptanceRounds, ...taskTools(tasks)];
  return {
    serverInfo: { name: 'acceptance', version: '1.0.0' },
    contentVersion: '1',
    instructions: 'Tools for acceptance tests.',
    tools: (caller) => Promise.resolve(tools.filter(({ definition }) => isShown(definition, caller))),
    resources: {
      list: () => Promise.resolve(resources),
      templates: () => Promise.resolve(templates),
    },
    prompts: () => Promise.resolve(acceptancePrompts),
    complete: ({ argument }) =>
      Promise.resolve(['paris', 'park', 'party'].filter((value) => value.startsWith(argument.value))),
    tasks,
  };
}

/** One tool is for one caller alone. */
export const SECRET_TOOL = 'only_for_operator';

function isShown({ name }: ToolDefinition, { principal }: Caller): boolean {
  return name !== SECRET_TOOL || principal === 'operator';
}

function answering(name: string, ...content: JsonObject[]): McpTool {
  return {
    definition: definitionOf(name),
    call: () => Promise.resolve({ resultType: 'complete', content }),
  };
}

// A WAVE file without samples.
const audio = {
  type: 'audio',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
};

/** Every kind of mirrored parameter. */
const parameterSchema: JsonObject = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    priority: { type: 'integer', 'x-mcp-header': 'Priority' },
    verbose: { type: 'boolean', 'x-mcp-header': 'Verbose' },
    nested: { type: 'object', properties: { area: { type: 'string', 'x-mcp-header': 'Area' } } },
    query: { type: 'string' },
  },
};

const schemaFeatures: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // As text: an object with this member would be taken for a promise.
  ...(JSON.parse('{"then":{"required":["phone"]}}') as JsonObject),
  else: { required: ['email'] },
  additionalProperties: false,
};

const plainTools: readonly McpTool[] = [
  answering('test_simple_text', { type: 'text', text: 'This is a simple text response for testing.' }),
  answering('test_image_content', image),
  answering('test_audio_content', audio),
  answering('test_embedded_resource', {
    type: 'resource',
    resource: {
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    },
  }),
  answering('test_multiple_content_types', { type: 'text', text: 'Multiple content types test:' }, image, {
    type: 'resource',
    resource: {
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: '{"test":"data","value":123}',
    },
  }),
  {
    definition: definitionOf('test_error_handling'),
    call: () => Promise.reject(new Error('the secret of the failing tool')),
  },
  {
    definition: definitionOf('test_tool_with_progress'),
    call: (_, { notifyProgress }) => {
      for (const progress of [0, 50, 50, 20, 100]) notifyProgress(progress, 100);
      return Promise.resolve(textOf('done'));
    },
  },
  answering('test_logging_tool', { type: 'text', text: 'nothing logged' }),
  {
    definition: definitionOf('test_streaming_elicitation'),
    call: () =>
      Promise.resolve({
        resultType: 'input_required',
        inputRequests: { answer: elicitation('What is the answer?', 'answer') },
      }),
  },
  {
    definition: definitionOf('test_missing_capability'),
    needs: { sampling: {} },
    call: () => Promise.resolve(textOf('sampled')),
  },
  {
    definition: definitionOf('test_custom_headers', parameterSchema),
    call: (given) => Promise.resolve({ ...textOf('headers agree'), structuredContent: given }),
  },
  {
    definition: definitionOf('json_schema_2020_12_tool', schemaFeatures),
    call: () => Promise.resolve(textOf('checked')),
  },
  answering(SECRET_TOOL, { type: 'text', text: 'for the operator' }),
  {
    definition: definitionOf('greet', { type: 'object', properties: { name: { type: 'string' } } }),
    call: ({ name }) => Promise.resolve(textOf(`Hello, ${typeof name === 'string' ? name : ''}!`)),
  },
];

function resourceOf(uri: string, mimeType: string, content: JsonObject): McpResource {
  return {
    definition: { uri, name: uri.replace('test://', ''), mimeType },
    read: () =>
      Promise.resolve({
        resultType: 'complete',
        contents: [{ uri, mimeType, ...content }],
        ttlMs: 60_000,
        cacheScope: 'public',
      }),
  };
}

const resources: readonly McpResource[] = [
  resourceOf('test://static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  }),
  resourceOf('test://static-binary', 'image/png', { blob: image.data }),
];

const templates: readonly McpResourceTemplate[] = [
  {
    definition: {
      uriTemplate: 'test://template/{id}/data',
      name: 'template',
      mimeType: 'application/json',
    },
    read: (uri) => {
      const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
      if (id === undefined) return Promise.resolve(null);
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return Promise.resolve({
        resultType: 'complete',
        contents: [{ uri, mimeType: 'application/json', text }],
        ttlMs: 0,
        cacheScope: 'private',
      });
    },
  },
];
