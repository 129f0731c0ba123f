import { type Agent, request } from 'node:http';

/** The requests of the MCP benchmark, in both eras of the protocol. */

export type Era = '2026-07-28' | '2025-11-25';

/** A request and its parameters. */
export interface Question {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const call = (name: string, given: object): Question => ({
  method: 'tools/call',
  params: { name, arguments: given },
});
const bench = { name: 'bench', version: '1.0.0' };
const list: Question = { method: 'tools/list', params: {} };
const cheap = call('svc_collections_list_v1', {});

/** The handshake of each era beside the same list and call. */
export const questions: Readonly<Record<Era, Readonly<Record<string, Question>>>> = {
  '2026-07-28': {
    'tools/call': cheap,
    'tools/list': list,
    'server/discover': { method: 'server/discover', params: {} },
  },
  '2025-11-25': {
    'tools/call': cheap,
    'tools/list': list,
    initialize: {
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: bench },
    },
  },
};

/** Reads records of a collection, whose answer is written as lines for a model. */
export const query = call('svc_records_query_v1', { collection: 'bench', limit: 20 });

/** Sends one message, and returns the bytes of its answer. Throws for an answer that is no result, or of a failed tool. */
export function ask(agent: Agent, url: string, era: Era, { method, params }: Question): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...metaOf(era) } });
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': era,
    ...(era === '2026-07-28' ? mirrored(method, params) : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        const isResult = answer.statusCode === 200 && text.includes('"result"');
        if (isResult && !text.includes('"isError":true')) resolve(Buffer.byteLength(text));
        else reject(new Error(`${method} was answered with ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function metaOf(era: Era): object {
  if (era !== '2026-07-28') return {};
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': bench,
  };
  return { _meta: meta };
}

function mirrored(method: string, { name }: Question['params']): Record<string, string> {
  return { 'Mcp-Method': method, ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}) };
}
