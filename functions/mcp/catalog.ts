import type { OperationEntry } from '../../contracts/operation.ts';
import type { RequestBooks } from '../http/request-books.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { TraceContext } from '../kernel/log.ts';
import type { LongNumbers } from '../kernel/strict-json.ts';
import type { McpCaller } from './caller.ts';

/**
 * The port of the endpoint: what it offers, asked for anew with every request. A part that is absent is not advertised, and
 * its methods are unknown. A part shows each caller only what that caller may use: what it does not show cannot be called.
 * A definition is an object that never changes, because its text is kept for all lists: a new text is a new object.
 */
export interface McpCatalog {
  readonly serverInfo: { readonly name: string; readonly version: string; readonly title?: string };
  /** Names the content of all lists. A cursor of another content is refused. */
  readonly contentVersion: string;
  /** For models; the same for every caller. */
  readonly instructions?: string;
  readonly tools?: (caller: McpCaller) => Promise<readonly McpTool[]>;
  readonly resources?: {
    readonly list: (caller: McpCaller) => Promise<readonly McpResource[]>;
    readonly templates: (caller: McpCaller) => Promise<readonly McpResourceTemplate[]>;
  };
  readonly prompts?: (caller: McpCaller) => Promise<readonly McpPrompt[]>;
  /** Values that complete an argument of a prompt or of a template. */
  readonly complete?: (completion: CompletionRequest, context: McpContext) => Promise<readonly string[]>;
  readonly tasks?: McpTasks;
}

export interface McpTool {
  /** The operation behind it, for the log. */
  readonly operation?: string;
  readonly definition: ToolDefinition;
  /** Capabilities without which the tool cannot be called, such as `taskCapability` for one that only runs as a task. */
  readonly needs?: JsonMembers;
  /** Checks its arguments itself. A `ServiceError` becomes a tool error, with its text. */
  readonly call: (toolArguments: JsonObject, context: McpContext) => Promise<ToolAnswer>;
}

export interface ToolDefinition {
  /** 1 to 128 characters of `A-Z a-z 0-9 _ - .`. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** JSON Schema 2020-12 with the type `object` at its root. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  readonly _meta?: JsonObject;
}

export interface McpResource {
  /** The operation behind it, for the log. */
  readonly operation?: string;
  readonly definition: { readonly uri: string } & ResourceDescription;
  readonly read: (context: McpContext) => Promise<ResourceAnswer>;
}

/** @testonly */
export interface McpResourceTemplate {
  /** `uriTemplate` is one of RFC 6570. */
  readonly definition: { readonly uriTemplate: string } & ResourceDescription;
  /** `null` where the template has no such resource, or none that the caller may read. */
  readonly read: (uri: string, context: McpContext) => Promise<ResourceAnswer | null>;
}

interface ResourceDescription {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly _meta?: JsonObject;
}

export interface McpPrompt {
  readonly definition: {
    readonly name: string;
    readonly description: string;
    readonly arguments?: readonly {
      readonly name: string;
      readonly description?: string;
      readonly required?: boolean;
    }[];
  };
  /** Every required argument is present. */
  readonly get: (
    promptArguments: Readonly<Record<string, string>>,
    context: McpContext,
  ) => Promise<PromptAnswer>;
}

interface CompletionRequest {
  readonly ref: JsonObject;
  readonly argument: { readonly name: string; readonly value: string };
}

/** What a handler learns of a request beside its parameters. Nothing of `_meta` is a credential. */
export interface McpContext {
  readonly caller: McpCaller;
  readonly correlationId: string;
  /** That of `_meta.traceparent`, else that of the request. */
  readonly trace?: TraceContext | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: a call that only waits should answer. */
  readonly draining?: AbortSignal;
  /** As the client declared them with this request. */
  readonly capabilities: JsonMembers;
  /** The arguments of the call as JSON text, with the spelling of numbers that values lose. */
  readonly argumentsText: () => string;
  /** Which numbers of that text a double may change. */
  readonly longNumbers: LongNumbers;
  /** Answers to the input requests of an earlier round, by key. Checked to be objects, no further. */
  readonly inputResponses: Readonly<Record<string, JsonObject>>;
  /** The state of the earlier round, proven to be ours and of this caller and call; `null` in the first. */
  readonly requestState: Json;
  /** What the call may take of the limits that it shares with others; absent: all that it wants. */
  readonly capacity?: McpCapacity;
  /** Tells the log which operation of the service the call came to. */
  readonly matched: (operation: string) => void;
  /** Notifies a client that asked for it. `progress` must rise; other values are dropped. */
  readonly notifyProgress: (progress: number, total?: number) => void;
}

export interface McpCapacity {
  /**
   * Takes a permit of the rate limit that requests to operations of the class count against, and what the body of the message
   * weighs. Throws `rate_limited`.
   */
  readonly permit: (rateClass: string | null) => Promise<void>;
  /** Waits in the line of bulk work where the operation is of that class. Throws `overloaded`. */
  readonly enterAs: (entry: OperationEntry) => Promise<void>;
  /** Takes further permits of the class for a call that costs more than others. */
  readonly chargeTo: (rateClass: string | null, permits: number) => void;
  /** What the request has taken, of which the call takes its part. */
  readonly books: RequestBooks;
}

/** The question to the client instead of a result. The client repeats the call with its answers. */
export interface InputRequired {
  readonly resultType: 'input_required';
  readonly inputRequests?: InputRequests;
  /** Signed, not encrypted: the client can read it. */
  readonly requestState?: Json;
}

export type InputRequests = Readonly<Record<string, InputRequest>>;

export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: JsonObject;
}

export interface ToolResult {
  readonly resultType: 'complete';
  readonly content: readonly JsonObject[];
  readonly structuredContent?: Json;
  /** The tool ran and reports trouble. */
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export type ToolAnswer = ToolResult | InputRequired | { readonly resultType: 'task'; readonly task: McpTask };

export type ResourceAnswer =
  | {
      readonly resultType: 'complete';
      /** Never empty. */
      readonly contents: readonly JsonObject[];
      /** How long the client may keep the content, in milliseconds. */
      readonly ttlMs: number;
      /** `public` only for a content that is the same for every caller. */
      readonly cacheScope: 'public' | 'private';
    }
  | InputRequired;

/** @testonly */
export type PromptAnswer =
  | {
      readonly resultType: 'complete';
      readonly description?: string;
      readonly messages: readonly JsonObject[];
    }
  | InputRequired;

/** Tasks by ids that cannot be guessed. Each call judges the caller anew; a task of another caller is unknown. */
export interface McpTasks {
  /** `null` for an unknown task. */
  readonly get: (taskId: string, caller: McpCaller, context: McpContext) => Promise<McpTask | null>;
  /** Takes the answers of keys that are open, and ignores others. `false` for an unknown task. */
  readonly update: (
    taskId: string,
    inputResponses: Readonly<Record<string, JsonObject>>,
    caller: McpCaller,
    context: McpContext,
  ) => Promise<boolean>;
  /** Asks for the end of a task; without effect on one that has ended. `false` for an unknown task. */
  readonly cancel: (taskId: string, caller: McpCaller, context: McpContext) => Promise<boolean>;
}

export type McpTask = McpTaskHead &
  (
    | { readonly status: 'working' | 'cancelled' }
    | { readonly status: 'input_required'; readonly inputRequests: InputRequests }
    | { readonly status: 'completed'; readonly result: ToolResult }
    /** The call would have ended in a JSON-RPC error; a tool that reports trouble is `completed`. */
    | {
        readonly status: 'failed';
        readonly error: { readonly code: number; readonly message: string; readonly data?: JsonObject };
      }
  );

interface McpTaskHead {
  readonly taskId: string;
  readonly statusMessage?: string;
  /** Milliseconds of the Unix epoch. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** How long the task is kept at least from its creation on, in milliseconds; `null` where no time ends it. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
  readonly _meta?: JsonObject;
}
