import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { isOlder, type Revision } from '../../functions/mcp/revisions.ts';
import { olderBody, olderFields } from './older-support.ts';
import { IDENTITY, type McpService } from './service-stage.ts';
import { bodyOf, fieldsOf, type McpAnswer, messagesOf, TASKS, withCapabilities } from './support.ts';

/** A client of the service in any revision, so that one test holds for all of them. */

type Params = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, string>>;

/** Without a principal there is no credential. */
type Sent = readonly [principal: string | null, method: string, params?: Params, headers?: Fields];

export interface RevisionClient {
  readonly revision: Revision;
  /** The body of a request, and the header fields that its revision asks for. */
  readonly bodyOf: (method: string, params?: Params) => Record<string, unknown>;
  readonly fieldsOf: (method: string, params?: Params) => Record<string, string>;
  readonly send: (...sent: Sent) => Promise<InjectedResponse>;
  readonly ask: (...sent: Sent) => Promise<McpAnswer>;
  /** Calls a tool and answers its result. */
  readonly call: (principal: string, name: string, given?: Params, headers?: Fields) => Promise<Params>;
  readonly toolNames: (principal: string) => Promise<readonly string[]>;
}

export function clientOf(service: () => Pick<McpService, 'send'>, revision: Revision): RevisionClient {
  const older = isOlder(revision) ? revision : null;
  const body = (method: string, params: Params = {}) =>
    older === null
      ? bodyOf(method, { _meta: withCapabilities(TASKS), ...params })
      : olderBody(method, params);
  const fields = (method: string, params: Params = {}) =>
    older === null ? fieldsOf(method, params) : olderFields(older);
  const send = (...[principal, method, params = {}, headers = {}]: Sent) =>
    service().send({
      body: body(method, params),
      headers: {
        ...fields(method, params),
        ...(principal === null ? {} : { [IDENTITY]: principal }),
        ...headers,
      },
    });
  const ask = async (...sent: Sent): Promise<McpAnswer> => {
    const response = await send(...sent);
    return { status: response.status, ...messagesOf(response).at(-1) };
  };
  return {
    revision,
    bodyOf: body,
    fieldsOf: fields,
    send,
    ask,
    async call(principal, name, given = {}, headers = {}) {
      const { result, error } = await ask(principal, 'tools/call', { name, arguments: given }, headers);
      if (result === undefined) throw new Error(`${name} was answered with ${JSON.stringify(error)}`);
      return result;
    },
    async toolNames(principal) {
      const { result } = await ask(principal, 'tools/list');
      return ((result?.['tools'] ?? []) as readonly { name: string }[]).map(({ name }) => name);
    },
  };
}

/** The values of a short result: 2025-03-26 has them as JSON text alone. */
export function valuesOf(result: Params): unknown {
  const [content] = result['content'] as readonly { readonly text: string }[];
  return result['structuredContent'] ?? JSON.parse(content?.text ?? '');
}
