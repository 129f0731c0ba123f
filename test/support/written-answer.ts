import { RawBody } from '../../functions/http/message.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { JsonText } from '../../functions/kernel/json-value-text.ts';

/** The body of an answer as its reader sees it, whether the handler gave it as a value or as JSON that is written already. */
export function readAnswer<T>(body: T): T {
  const given: unknown = body;
  if (given instanceof JsonText) return parseJson(given.text) as T;
  if (!(given instanceof RawBody)) return body;
  const { content } = given;
  const isWhole = typeof content === 'string' || content instanceof Uint8Array;
  return JSON.parse((isWhole ? Buffer.from(content) : Buffer.concat(content)).toString()) as T;
}
