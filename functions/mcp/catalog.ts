import type { OperationEntry } from '../../contracts/operation.ts';
import type { RequestBooks } from '../http/request-books.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { TraceContext } from '../kernel/log.ts';
import type { LongNumbers } from '../kernel/strict-json.ts';
import type { McpCaller } from './caller.ts';
import type { Revision } from './revisions.ts';

/**
 * The port of the endpoint, called anew for every request. The endpoint does not advertise an absent part, and its methods are
 * unknown. A part shows a caller only the items that this caller may use. A definition is immutable, because the endpoint keeps
 * its text for all lists: a new text needs a new object.
 */
export interface McpCatalog {
  readonly serverInfo: { readonly name: string; readonly version: string; readonly title?: string };
  /** Identifies the content of all lists. A cursor for another content is refused. */
  readonly contentVersion: string;
  /** A text for models. It is the same for every caller. */
  readonly instructions?: string;
  /** The text for clients of older revisions, where it differs. */
  readonly olderInstructions?: string;
  readonly tools?: (caller: McpCaller) => Promise<readonly McpTool[]>;
  /** The tools for clients of older revisions, which declare no capabilities. Absent: those of `tools` that need none. */
  readonly olderTools?: (caller: McpCaller) => Promise<readonly McpTool[]>;
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
  /** The schema of the arguments where the definition has only a part of it. Refusals may name all its members. */
  readonly argumentsSchema?: JsonObject;
  /**
   * Capabilities that a client needs to call the tool, such as `taskCapability` for a tool that only runs as a task. Clients of older
   * revisions do not see the tool in this form.
   */
  readonly needs?: JsonMembers;
  /** The tool answers a call by its name, and the list does not show it. */
  readonly isUnlisted?: true;
  /** Checks its arguments itself. A `ServiceError` becomes a tool error with the same text. */
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
    /** This hint and the next one have a meaning for writes alone. */
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
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

export interface McpResourceTemplate {
  /** `uriTemplate` is one of RFC 6570. */
  readonly definition: { readonly uriTemplate: string } & ResourceDescription;
  /** `null` if the template has no such resource, or the caller may not read it. */
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

/** Facts of a request beside its parameters. Values of `_meta` are no credentials. */
export interface McpContext {
  readonly caller: McpCaller;
  /** The revision of the request. The endpoint itself leaves out members that it does not know. */
  readonly revision: Revision;
  readonly correlationId: string;
  /** The trace of `_meta.traceparent`, else the trace of the HTTP request. */
  readonly trace?: TraceContext | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: a waiting call should then answer. */
  readonly draining?: AbortSignal;
  /** The capabilities that the client declared with this request; none in older revisions, whose requests do not declare them. */
  readonly capabilities: JsonMembers;
  /** The arguments of the call as JSON text, which keeps the spelling of numbers. */
  readonly argumentsText: () => string;
  /** Which numbers of that text a double may change. */
  readonly longNumbers: LongNumbers;
  /** Answers to the input requests of an earlier round, by key. The endpoint checks only that they are objects. */
  readonly inputResponses: Readonly<Record<string, JsonObject>>;
  /** The state of the earlier round, signed by the server for this caller and call; `null` in the first round. */
  readonly requestState: Json;
  /** The shared limits that the call counts against. Absent: no limits. */
  readonly capacity?: McpCapacity;
  /** Names the operation of the service that executes the call, for the log. */
  readonly matched: (operation: string) => void;
  /** Notifies the client if it asked for progress. A value that does not rise is dropped. */
  readonly notifyProgress: (progress: number, total?: number) => void;
}

export interface McpCapacity {
  /**
   * Takes a permit from the rate limit of the class, and permits for the size of the message body. Throws `rate_limited`.
   */
  readonly permit: (rateClass: string | null) => Promise<void>;
  /** Waits in the queue of bulk work if the operation is of that class. Throws `overloaded`. */
  readonly enterAs: (entry: OperationEntry) => Promise<void>;
  /** Takes more permits of the class for an expensive call. */
  readonly chargeTo: (rateClass: string | null, permits: number) => void;
  /** The resources of the request, from which the call takes its part. */
  readonly books: RequestBooks;
}

/** Input requests to the client instead of a result. The client repeats the call with its answers. */
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
  /** The tool ran and reports an error. */
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

/** Tasks by ids that cannot be guessed. Each call checks the caller again; a task of another caller is unknown. */
export interface McpTasks {
  /** `null` for an unknown task. */
  readonly get: (taskId: string, caller: McpCaller, context: McpContext) => Promise<McpTask | null>;
  /** Accepts answers for open keys and ignores other keys. `false` for an unknown task. */
  readonly update: (
    taskId: string,
    inputResponses: Readonly<Record<string, JsonObject>>,
    caller: McpCaller,
    context: McpContext,
  ) => Promise<boolean>;
  /** Requests the cancellation of a task; has no effect on a task that has ended. `false` for an unknown task. */
  readonly cancel: (taskId: string, caller: McpCaller, context: McpContext) => Promise<boolean>;
}

export type McpTask = McpTaskHead &
  (
    | { readonly status: 'working' | 'cancelled' }
    | { readonly status: 'input_required'; readonly inputRequests: InputRequests }
    | { readonly status: 'completed'; readonly result: ToolResult }
    /** The call would have returned a JSON-RPC error. A tool that reports an error is `completed`. */
    | {
        readonly status: 'failed';
        readonly error: { readonly code: number; readonly message: string; readonly data?: JsonObject };
      }
  );

interface McpTaskHead {
  readonly taskId: string;
  /** The id by which tools for runs know the work; absent where it is a job. */
  readonly runId?: string;
  /** A cancellation was accepted and the worker has not ended the work yet. */
  readonly isBeingCancelled?: true;
  /** When work that was planned for later begins, in milliseconds of the Unix epoch; absent once it may begin. */
  readonly beginsAt?: number;
  readonly statusMessage?: string;
  /** Milliseconds of the Unix epoch. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** Minimum time from the creation of the task to its removal, in milliseconds; `null` if the task does not expire. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
  readonly _meta?: JsonObject;
}
