import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { Log, Severity } from '../kernel/log.ts';
import type { PageTokens } from '../kernel/page-token.ts';
import type { Clock } from '../kernel/world.ts';
import type { McpCatalog, McpContext } from './catalog.ts';
import type { McpCall } from './envelope.ts';
import type { MirrorFields } from './header-fields.ts';
import { type Revision, revisions } from './revisions.ts';

/** The parts of the protocol that all requests share. */
export interface McpParts {
  readonly catalog: McpCatalog;
  /** Signs cursors and request states with a key that all instances share. */
  readonly tokens: PageTokens;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: McpSettings;
}

export interface McpSettings {
  /** The revisions that are served, the newest first. */
  readonly revisions: readonly Revision[];
  /** Items on a page of a list. */
  readonly pageSize: number;
  /** How long a client may keep the answer of `server/discover`, in milliseconds. */
  readonly discoverTtlMs: number;
  /** How long a client may keep a list, in milliseconds. */
  readonly listTtlMs: number;
  /** How long a request state is accepted, in milliseconds. */
  readonly requestStateMs: number;
}

export const mcpSettings: McpSettings = {
  revisions,
  pageSize: 100,
  discoverTtlMs: 300_000,
  listTtlMs: 60_000,
  requestStateMs: 600_000,
};

/** Code and severity of a refusal in the log. */
export interface Refusal {
  readonly code: string;
  readonly severity: Severity;
}

/** One request with a valid envelope. */
export interface McpExchange {
  readonly parts: McpParts;
  readonly call: McpCall;
  readonly fields: MirrorFields;
  readonly context: McpContext;
  /** Records the reason of a refusal for the log. */
  readonly refused: (refusal: Refusal) => void;
  /** Sends a notification before the result, which makes the answer an event stream. */
  readonly notify: (message: JsonMembers) => void;
}

/** Executes one method and returns the members of its result. */
export type AnswerMethod = (exchange: McpExchange) => Promise<JsonMembers>;
