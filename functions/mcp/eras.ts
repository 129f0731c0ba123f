import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { McpCaller } from './caller.ts';
import { type McpCall, type RequestMeta, readMeta, SERVER_INFO } from './envelope.ts';
import { McpError } from './errors.ts';
import type { AnswerMethod, McpParts } from './exchange.ts';
import { methodsOf, olderMethodsOf } from './methods.ts';
import { noRound, readOlderMeta } from './older/envelope.ts';
import { olderError, olderResult } from './older/results.ts';
import { type Round, readRound } from './request-state.ts';
import { isOlder, type Revision } from './revisions.ts';

/** How requests of a revision are read and answered. The catalog behind it is one for all revisions. */
export interface Era {
  readonly methods: ReadonlyMap<string, AnswerMethod>;
  /** Whether clients may leave out the header fields that repeat values of the body. */
  readonly mayLackMirrors: boolean;
  readonly readMeta: (call: McpCall, rawHeaders: readonly string[]) => RequestMeta;
  readonly readRound: (call: McpCall, caller: McpCaller) => Promise<Round>;
  /** The result with the members of the revision. */
  readonly result: (result: JsonMembers) => JsonMembers;
  readonly error: (error: unknown) => unknown;
}

export function erasOf(parts: McpParts): (revision: Revision) => Era {
  const { catalog } = parts;
  const newest: Era = {
    methods: methodsOf(catalog),
    mayLackMirrors: false,
    readMeta,
    readRound: (call, caller) => readRound(parts, call, caller),
    result(result) {
      const meta = { ...(result['_meta'] as object | undefined), [SERVER_INFO]: catalog.serverInfo };
      return { ...result, _meta: meta };
    },
    error: (error) => error,
  };
  const older: Omit<Era, 'result'> = {
    methods: olderMethodsOf(catalog),
    mayLackMirrors: true,
    readMeta: readOlderMeta,
    readRound: () => Promise.resolve(noRound),
    error: (error) => (error instanceof McpError ? olderError(error) : error),
  };
  return (revision) =>
    isOlder(revision) ? { ...older, result: (result) => olderResult(revision, result) } : newest;
}
