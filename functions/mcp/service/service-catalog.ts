import { createHash } from 'node:crypto';
import type { OperationEntry } from '../../../contracts/operation.ts';
import { isFixedDocument } from '../../http/fixed-document.ts';
import { PERMIT_BYTES } from '../../http/rate-limit.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonObject } from '../../kernel/json-kinds.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { McpCaller } from '../caller.ts';
import { taskCapability } from '../capabilities.ts';
import type {
  McpCatalog,
  McpContext,
  McpResource,
  McpTool,
  ResourceAnswer,
  ToolDefinition,
  ToolResult,
} from '../catalog.ts';
import { advancedTemplate } from './advanced-template.ts';
import { includeOf, mappedInputOf, offsetOf } from './arguments.ts';
import { callAs, mayCall, type ServiceOperations } from './call-operation.ts';
import { instructions, olderInstructions } from './instructions.ts';
import { withListedWords } from './listed-words.ts';
import { mappedNames, refusalOfTool } from './mapped-request.ts';
import { mappedResult, type TextContent, termsFor } from './mapped-result.ts';
import { withCollectionWords, withTaskWords } from './more-words.ts';
import { nextPageOf, withNextPage } from './next-page.ts';
import { nullableMembers } from './nullable-members.ts';
import { goingOnTools, plainTool } from './plain-tasks.ts';
import { type AwaitEnd, RunTasks } from './run-tasks.ts';
import { TaskIds } from './task-ids.ts';
import { ADVANCED_ARGUMENT, type ToolMap } from './tool-map.ts';

/** The definition of one operation, from `contracts/generated/mcp/definitions.json`. */
export type McpDefinition = { readonly operationId: string; readonly group: string } & (
  | ({
      readonly exposure: 'tool' | 'preview' | 'task';
      readonly definition: ToolDefinition;
    } & ToolMapping)
  | { readonly exposure: 'resource'; readonly definition: McpResource['definition'] }
);

interface ToolMapping {
  readonly map: ToolMap;
  /** The schema of the argument `advanced`. */
  readonly advanced?: JsonObject;
}

export interface ServiceCatalogParts extends ServiceOperations {
  readonly definitions: { readonly contentVersion: string; readonly definitions: readonly McpDefinition[] };
  /** Whether the settings enable the operation for the endpoint. */
  readonly isEnabled: (operationId: string) => boolean;
  /** Signs the ids of tasks with the key that all instances share. */
  readonly tokens: PageTokens;
  readonly serverInfo: McpCatalog['serverInfo'];
  /** The most characters of an answer in one result. */
  readonly lengthMax: number;
  readonly textContent: TextContent;
  /** Whether clients of older revisions may call tools for durable work. */
  readonly plainTasks: boolean;
  readonly awaitEnd: AwaitEnd;
  /** Minimum time from the end of a run to its removal, in milliseconds. */
  readonly retainedMsMin: number;
}

const DOCUMENT_TTL_MS = 60_000;

/** Offers operations that the process serves and the settings enable, to callers whose policies allow them. */
export function createServiceCatalog(parts: ServiceCatalogParts): McpCatalog {
  const offered = parts.definitions.definitions.flatMap((given) => {
    const entry = parts.operations[given.operationId];
    return entry !== undefined && parts.isEnabled(given.operationId) ? [{ ...given, entry }] : [];
  });
  const { lengthMax, retainedMsMin, textContent } = parts;
  const ofTasks = parts.definitions.definitions.flatMap((each) =>
    each.exposure === 'task' ? [each.map] : [],
  );
  const nullable = nullableMembers(ofTasks);
  const tasks = new RunTasks(parts, new TaskIds(parts.tokens), {
    lengthMax,
    nullable,
    retainedMsMin,
    textContent,
  });
  const tools = offered.flatMap((each) =>
    each.exposure === 'resource' ? [] : [{ entry: each.entry, item: toolOf(parts, tasks, each) }],
  );
  const resources = offered.flatMap((each) =>
    each.exposure === 'resource' ? [{ entry: each.entry, item: resourceOf(parts, each) }] : [],
  );
  const templates = offered.flatMap((each) =>
    each.exposure === 'resource' || each.advanced === undefined
      ? []
      : [{ entry: each.entry, item: advancedTemplate(each.definition.name, each.advanced) }],
  );
  return {
    serverInfo: parts.serverInfo,
    contentVersion: versionOf(parts.definitions.contentVersion, [
      ...offered.map(({ operationId }) => operationId),
      ...(parts.plainTasks ? [] : ['no plain tasks']),
    ]),
    instructions,
    olderInstructions: olderInstructions(parts.plainTasks),
    tools: async (caller) => withListedWords(await visible(parts, tools, caller)),
    olderTools: createOlderTools(parts, tasks, tools),
    resources: {
      list: (caller) => visible(parts, resources, caller),
      templates: (caller) => visible(parts, templates, caller),
    },
    tasks,
  };
}

/**
 * The tools that need no tasks, and those for durable work in their plain form. The two that go on with work answer every caller, because
 * running work outlasts the right to start it. They are listed for a caller that sees or could cancel durable work.
 */
function createOlderTools(
  parts: ServiceCatalogParts,
  tasks: RunTasks,
  tools: readonly { readonly entry: OperationEntry; readonly item: McpTool }[],
): NonNullable<McpCatalog['olderTools']> {
  const own = { tasks, clock: parts.clock };
  const older = tools.flatMap(({ entry, item }) => {
    if (item.needs === undefined) return [{ entry, item: { tool: item, isPlain: false } }];
    return parts.plainTasks ? [{ entry, item: { tool: plainTool(item, own), isPlain: true } }] : [];
  });
  const goingOn = parts.plainTasks ? goingOnTools(tasks) : [];
  const unlisted = goingOn.map((tool): McpTool => ({ ...tool, isUnlisted: true }));
  const cancelling = older.some(({ item }) => item.isPlain)
    ? tasks.cancelling.map((entry) => ({ entry, item: entry.id }))
    : [];
  return async (caller) => {
    const seen = await visible(parts, older, caller);
    const shown = seen.map(({ tool }) => tool);
    const goesOn =
      seen.some(({ isPlain }) => isPlain) || (await visible(parts, cancelling, caller)).length > 0;
    return goesOn ? withListedWords([...shown, ...goingOn]) : [...withListedWords(shown), ...unlisted];
  };
}

/** Lists change with the contract and with the enabled operations. */
function versionOf(contract: string, offered: readonly string[]): string {
  return `${contract}-${createHash('sha256').update(offered.join(' ')).digest('hex').slice(0, 8)}`;
}

async function visible<Item>(
  parts: ServiceOperations,
  items: readonly { readonly entry: OperationEntry; readonly item: Item }[],
  caller: McpCaller,
): Promise<readonly Item[]> {
  const allowed = await Promise.all(items.map(({ entry }) => mayCall(parts, entry, caller)));
  return items.filter((_, index) => allowed[index] === true).map(({ item }) => item);
}

async function isSeen(parts: ServiceCatalogParts, operationId: string, caller: McpCaller): Promise<boolean> {
  const entry = parts.isEnabled(operationId) ? parts.operations[operationId] : undefined;
  return entry !== undefined && mayCall(parts, entry, caller);
}

interface OfferedTool extends ToolMapping {
  readonly entry: OperationEntry;
  readonly exposure: 'tool' | 'preview' | 'task';
  readonly definition: ToolDefinition;
}

function toolOf(parts: ServiceCatalogParts, tasks: RunTasks, offered: OfferedTool): McpTool {
  const { entry, exposure, definition, map } = offered;
  const argumentsSchema = wholeSchema(offered);
  const admit = async (given: JsonObject, context: McpContext) => {
    const input = mappedInputOf(entry, { map, schema: argumentsSchema }, given, context);
    return callAs(parts, entry, input, context).catch(async (error: unknown) => {
      const refusal = withTaskWords(refusalOfTool(map, error), given, (text) => tasks.hasForm(text));
      throw await withCollectionWords(refusal, given, (id) => isSeen(parts, id, context.caller));
    });
  };
  const tool = { operation: entry.id, definition, argumentsSchema };
  if (exposure === 'task')
    return {
      ...tool,
      needs: taskCapability,
      async call(given, context) {
        const admitted = await admit(given, context);
        return { resultType: 'task', task: await tasks.of(admitted, context) };
      },
    };
  return {
    ...tool,
    async call(given, context) {
      const offset = offsetOf(given);
      const { answer, text } = await admit(given, context);
      const asked = { operationId: entry.id, text, include: includeOf(given), offset };
      const result = mappedResult(map, asked, termsFor(parts, context.revision));
      const next = endsEarly(result) ? null : nextPageOf(entry, answer);
      return withNextPage(result, next === null ? null : mappedNames(map, next), offset);
    },
  };
}

/** The schema of all arguments. The definition describes those of `advanced` by their types alone. */
function wholeSchema({ definition: { inputSchema }, advanced }: OfferedTool): JsonObject {
  if (advanced === undefined) return inputSchema;
  const properties = { ...(inputSchema['properties'] as JsonObject), [ADVANCED_ARGUMENT]: advanced };
  return { ...inputSchema, properties };
}

/** Whether the result lacks items of its page, which come before the next page. */
function endsEarly({ structuredContent }: ToolResult): boolean {
  return isJsonObject(structuredContent) && structuredContent['nextOffset'] !== undefined;
}

function resourceOf(
  parts: ServiceCatalogParts,
  { entry, definition }: { readonly entry: OperationEntry; readonly definition: McpResource['definition'] },
): McpResource {
  return {
    operation: entry.id,
    definition,
    async read(context): Promise<ResourceAnswer> {
      const { answer, text } = await callAs(parts, entry, {}, context);
      const isFixed = isFixedDocument(answer.body);
      // An immutable document is the same for all callers. Charge permits for its bytes.
      if (isFixed) context.capacity?.books.charge(Math.floor(text.length / PERMIT_BYTES));
      return {
        resultType: 'complete',
        contents: [{ uri: definition.uri, mimeType: definition.mimeType ?? 'application/json', text }],
        ttlMs: isFixed ? DOCUMENT_TTL_MS : 0,
        cacheScope: isFixed ? 'public' : 'private',
      };
    },
  };
}
