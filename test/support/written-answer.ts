import { RawBody } from '../../functions/http/message.ts';

/** The body of an answer as its reader sees it, whether the handler gave it as a value or as JSON that is written already. */
export function readAnswer<T>(body: T): T {
  const given: unknown = body;
  return given instanceof RawBody ? (JSON.parse(Buffer.from(given.content).toString()) as T) : body;
}
