/** The part of a client of the revision 2026-07-28 that an agent needs: one POST a message, and nothing kept between two. */

const REVISION = '2026-07-28';
const prefix = 'io.modelcontextprotocol/';

export type Members = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Members;
}

export interface ToolResult {
  readonly resultType: 'complete';
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Members;
  readonly isError?: boolean;
}

interface Task {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  readonly pollIntervalMs?: number;
  readonly result?: ToolResult;
}

export class McpClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #lastId = 0;

  /** `headers` carry the credential, such as `Authorization`. */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async tools(): Promise<readonly Tool[]> {
    const found: Tool[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#send('tools/list', cursor === undefined ? {} : { cursor });
      found.push(...(page['tools'] as readonly Tool[]));
      cursor = page['nextCursor'] as string | undefined;
    } while (cursor !== undefined);
    return found;
  }

  /** Calls a tool. Where the server answers a task, waits for its end; `onProgress` hears of it. */
  async call(
    name: string,
    given: Members,
    onProgress: (text: string) => void = () => {},
  ): Promise<ToolResult> {
    const result = await this.#send('tools/call', { name, arguments: given });
    if (result['resultType'] !== 'task') return result as unknown as ToolResult;
    let task = result as unknown as Task;
    while (task.status === 'working') {
      onProgress(task.statusMessage ?? task.status);
      await new Promise((resolve) => setTimeout(resolve, task.pollIntervalMs ?? 1_000));
      task = await this.#look(task.taskId);
    }
    if (task.result === undefined) throw new Error(`the task ended as ${task.status}`);
    return task.result;
  }

  /** Looks at a task; again where the server is busy, after the time that it names. */
  async #look(taskId: string): Promise<Task> {
    for (;;) {
      const response = await this.#post('tasks/get', { taskId });
      if (response.status !== 429 && response.status !== 503)
        return (await resultOf('tasks/get', response)) as unknown as Task;
      const seconds = Math.min(Number(response.headers.get('Retry-After')) || 1, 60);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
  }

  async #send(method: string, params: Members): Promise<Members> {
    return resultOf(method, await this.#post(method, params));
  }

  #post(method: string, params: Members): Promise<Response> {
    const meta = {
      [`${prefix}protocolVersion`]: REVISION,
      [`${prefix}clientInfo`]: { name: 'example', version: '1.0.0' },
      [`${prefix}clientCapabilities`]: { extensions: { [`${prefix}tasks`]: {} } },
    };
    const named = params['name'] ?? params['taskId'];
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        ...this.#headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': REVISION,
        'Mcp-Method': method,
        ...(typeof named === 'string' ? { 'Mcp-Name': named } : {}),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: ++this.#lastId,
        method,
        params: { ...params, _meta: meta },
      }),
    });
  }
}

async function resultOf(method: string, response: Response): Promise<Members> {
  const answer = (await response.json()) as {
    result?: Members;
    error?: { message: string };
    detail?: string;
  };
  if (answer.result === undefined)
    throw new Error(`${method}: ${answer.error?.message ?? answer.detail ?? response.status}`);
  return answer.result;
}
