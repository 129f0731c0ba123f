import type { Members, Tool, ToolResult } from './client.ts';

/**
 * A model in the shape of one: it reads the definitions of the tools and the results so far, and answers the next call or its
 * last words. A real one is asked over its own API, with the same two inputs.
 */

export interface Call {
  readonly name: string;
  readonly arguments: Members;
}

export type Turn = { readonly call: Call } | { readonly words: string };

export interface Seen {
  readonly call: Call;
  readonly result: ToolResult;
}

/** Finds the notes about a topic, reads the best one, and keeps a summary of it as a record of its own. */
export function nextTurn(topic: string, tools: readonly Tool[], seen: readonly Seen[]): Turn {
  const last = seen.at(-1);
  if (last?.result.isError === true) return { words: `I stopped: ${last.result.content[0]?.text}` };
  const toolFor = (ending: string): string => {
    const tool = tools.find(({ name }) => name.endsWith(ending));
    if (tool === undefined) throw new Error(`no tool ends with ${ending}`);
    return tool.name;
  };
  const valuesOf = (ending: string) =>
    seen.find(({ call }) => call.name.endsWith(ending))?.result.structuredContent;
  const collection = 'notes';
  switch (seen.length) {
    case 0:
      return {
        call: { name: toolFor('_records_search_v1'), arguments: { collection, query: topic } },
      };
    case 1: {
      const [best] = (valuesOf('_search_v1')?.['items'] ?? []) as readonly {
        record: { partitionKey: string; id: string };
      }[];
      if (best === undefined) return { words: `There is no note about ${topic}.` };
      const { partitionKey, id } = best.record;
      return { call: { name: toolFor('_records_get_v1'), arguments: { collection, partitionKey, id } } };
    }
    case 2: {
      const { id, content } = valuesOf('_records_get_v1') as { id: string; content: { text: string } };
      const [sentence = ''] = content.text.split('. ');
      // The same key again would find the same task, and write nothing twice.
      return {
        call: {
          name: toolFor('_start_batch_upsert_job_v1'),
          arguments: {
            collection,
            idempotencyKey: `summary-of-${id}`,
            records: [
              {
                id: `summary-${id}`,
                partitionKey: 'summaries',
                type: 'summary',
                metadata: { of: id },
                content: { text: `${sentence}.` },
              },
            ],
          },
        },
      };
    }
    default:
      return { words: `I kept a summary of the best note about ${topic}.` };
  }
}
