import type { Json } from '../../kernel/canonical-json.ts';

const LENGTH_MAX = 200;
const DOTS = '...';

/** The beginning of `content.text`, in UTF-16 units; empty without a text. A surrogate pair is never split. */
export function snippetOf(content: Json | undefined): string {
  const text = textOf(content, 'text');
  if (text === null || text.length <= LENGTH_MAX) return text ?? '';
  return beginOf(text, LENGTH_MAX - DOTS.length) + DOTS;
}

/** A string member of an object; `null` without one. */
export function textOf(value: Json | undefined, name: string): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const member = Object.hasOwn(value, name) ? (value as Readonly<Record<string, Json>>)[name] : null;
  return typeof member === 'string' ? member : null;
}

/** The first `most` UTF-16 units, one fewer where they would split a surrogate pair. */
export function beginOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const begin = text.slice(0, most);
  return begin.isWellFormed() || !text.isWellFormed() ? begin : begin.slice(0, -1);
}
