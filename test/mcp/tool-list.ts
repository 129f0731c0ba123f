import type { ListedTool } from './model-planner.ts';
import { IDENTITY, type McpService } from './service-stage.ts';
import { bodyOf, fieldsOf, META, messagesOf } from './support.ts';

export interface ToolList {
  /** Of the pages, as the wire carries them. */
  readonly bytes: number;
  readonly tools: readonly ListedTool[];
}

/** The list of tools of the caller `writer`, all pages. */
export async function toolList(service: Pick<McpService, 'send'>): Promise<ToolList> {
  const tools: ListedTool[] = [];
  let bytes = 0;
  for (let cursor: unknown; ; ) {
    const params = { _meta: META, ...(cursor === undefined ? {} : { cursor }) };
    const headers = { ...fieldsOf('tools/list', params), [IDENTITY]: 'writer' };
    const response = await service.send({ body: bodyOf('tools/list', params), headers });
    const [message] = messagesOf(response);
    const result = message?.['result'] as Readonly<Record<string, unknown>>;
    bytes += Buffer.byteLength(response.body);
    tools.push(...(result['tools'] as readonly ListedTool[]));
    cursor = result['nextCursor'];
    if (cursor === undefined) return { bytes, tools };
  }
}
