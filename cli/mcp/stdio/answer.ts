import { parseJson } from '../../../functions/kernel/json-text.ts';
import { remedyOf } from '../remedies.ts';
import { eventsOf } from './events.ts';
import { errorLine, isMembers, type Members, type MessageId } from './message.ts';

/** The answer of the service over HTTP, as lines for the client. */

export interface HttpAnswer {
  readonly status: number;
  /** In lower case, without parameters. */
  readonly mediaType: string;
  /** Seconds after which the service takes the next request, where it says so. */
  readonly retryAfterSeconds?: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The whole body. */
  readonly body: () => Promise<Buffer>;
  /** An answer that is no message of the protocol, in words. */
  readonly refusal: (body: Buffer) => Promise<string>;
}

export interface AnswerLine {
  readonly line: string;
  readonly message: Members;
}

const INTERNAL = -32_603;
const EVENT_BYTES_MAX = 64 * 1024 * 1024;

/** Yields notifications as they come, and the response last. Always ends with a response. */
export async function* linesOfAnswer(answer: HttpAnswer, id: MessageId): AsyncGenerator<AnswerLine> {
  if (answer.mediaType === 'text/event-stream' && answer.status === 200) yield* linesOfEvents(answer, id);
  else {
    const body = await answer.body();
    const text = body.toString('utf8');
    const message = answer.mediaType === 'application/json' ? messageIn(text) : null;
    if (message === null) yield failure(id, ...(await refusalOf(answer, body)));
    else yield responseOf(id, text, message);
  }
}

async function* linesOfEvents({ chunks }: HttpAnswer, id: MessageId): AsyncGenerator<AnswerLine> {
  for await (const text of eventsOf(chunks, EVENT_BYTES_MAX)) {
    const message = messageIn(text);
    if (message !== null && message['method'] === undefined) {
      yield responseOf(id, text, message);
      return;
    }
    if (message !== null) yield { line: oneLine(text), message };
  }
  yield failure(id, `The stream of the answer ended before the result. ${unknownOutcome}`);
}

function responseOf(id: MessageId, text: string, message: Members): AnswerLine {
  const { error } = message;
  if (message['id'] === id) return { line: oneLine(text), message };
  // The service leaves the id out where it could not read the message. This process could.
  if (isMembers(error)) return { line: JSON.stringify({ jsonrpc: '2.0', id, error }), message };
  return failure(id, 'The service answered another message than the one that was sent.');
}

/** What to do after a connection that broke once the message was sent. */
export const unknownOutcome =
  'The service may have executed the call: look before you repeat it, or repeat it with the same idempotencyKey.';

/** The response of this process where the service gave none. */
export function failure(id: MessageId, message: string, data?: Members): AnswerLine {
  return { line: errorLine(id, INTERNAL, message, data), message: {} };
}

async function refusalOf(answer: HttpAnswer, body: Buffer): Promise<[message: string, data: Members]> {
  const { status, retryAfterSeconds } = answer;
  const words = (await answer.refusal(body)).replaceAll(/\s*\n\s*/g, '; ').replace(/\.+$/, '');
  const remedy = remedyOf(status);
  const data = { status, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  return [remedy === undefined ? `${words}.` : `${words}. ${remedy}`, data];
}

function messageIn(text: string): Members | null {
  try {
    const value = parseJson(text);
    return isMembers(value) && value['jsonrpc'] === '2.0' ? value : null;
  } catch {
    return null;
  }
}

/** JSON has line feeds between its tokens only, where a blank means the same. */
function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, ' ').trim();
}
