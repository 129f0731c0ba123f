import type { OperationEntry, ParameterSpec } from '../../../contracts/operation.ts';
import type { Answer } from '../../http/answer.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import type { ToolResult } from '../catalog.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';

const NEXT = '>; rel="next"';

/**
 * The arguments of the next page. REST names the page in the field `Link`, which clients of a tool do not see. `null` if the answer
 * has no such field.
 */
export function nextPageOf(
  { routes }: OperationEntry,
  { headers }: Pick<Answer, 'headers'>,
): JsonObject | null {
  const query = nextQuery(headers?.['Link'] ?? '');
  if (query === null) return null;
  const specs = routes[0]?.query ?? [];
  return Object.fromEntries(
    [...new URLSearchParams(query)].map(([name, text]) => [
      name,
      valueOf(
        specs.find((spec) => spec.name === name),
        text,
      ),
    ]),
  );
}

/** The query of the address with `rel="next"`. */
function nextQuery(link: string): string | null {
  const end = link.indexOf(NEXT);
  const address = link.slice(link.lastIndexOf('<', end) + 1, end);
  const at = address.indexOf('?');
  return end === -1 || at === -1 ? null : address.slice(at + 1);
}

function valueOf(spec: ParameterSpec | undefined, text: string): Json {
  if (spec?.type === 'boolean') return text === 'true';
  return spec?.type === 'integer' || spec?.type === 'number' ? Number(text) : text;
}

/**
 * Adds the next page to the result: as a separate text for models, and as a member for programs. It sets an offset that the call has
 * to 0, because a caller that keeps its other arguments would skip items of the next page.
 */
export function withNextPage(
  result: ToolResult,
  next: JsonObject | null,
  offset: number | null = null,
): ToolResult {
  if (next === null) return result;
  const nextPage = offset === null ? next : { ...next, [OFFSET_ARGUMENT]: 0 };
  const { _meta: meta } = result;
  return {
    ...result,
    content: [...result.content, { type: 'text', text: JSON.stringify({ nextPage }) }],
    _meta: { ...meta, 'svc.runtime/nextPage': nextPage },
  };
}
