import { RemoteFailure } from '../../remote/failure.ts';
import { failure, type HttpAnswer, linesOfAnswer, unknownOutcome } from './answer.ts';
import { fieldsOf } from './fields.ts';
import { errorLine, type ForwardedMessage, isMembers, type MessageId, readLine } from './message.ts';

export interface RelayOptions {
  readonly post: (
    body: Buffer,
    fields: readonly (readonly [name: string, value: string])[],
    signal: AbortSignal,
  ) => Promise<HttpAnswer>;
  /** Resolves once the line is written. */
  readonly write: (line: string) => Promise<void>;
  readonly log: (text: string) => void;
  readonly lineBytesMax: number;
  /** Messages that are with the service at one time. */
  readonly atWorkMax: number;
  /** Those among them that call a tool, which may take long. The other places are for short messages. */
  readonly callsMax: number;
  /** Messages that wait for a place, and their bytes. */
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
}

interface Entry {
  readonly message: ForwardedMessage;
  readonly controller: AbortController;
}

type Reason = 'cancelled' | 'stopped';

/** Forwards the messages of one client to the service, side by side, and writes the answers. */
export class Relay {
  readonly #options: RelayOptions;
  readonly #waiting: Entry[] = [];
  readonly #atWork = new Set<Entry>();
  readonly #byId = new Map<MessageId, Entry>();
  readonly #settled: (() => void)[] = [];
  #negotiated: string | null = null;
  #waitingBytes = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Takes one line of the client. Its answer is written later. */
  take(line: Buffer | 'too-long'): void {
    const read = readLine(line, this.#options.lineBytesMax);
    if (read.kind === 'fault') return this.#print(read.line);
    if (read.kind === 'answer')
      return this.#options.log('An answer of the client was dropped: nothing was asked.');
    const { message } = read;
    // The end of the HTTP request is the cancellation. The service knows no request of another connection.
    if (message.id === null && message.method === 'notifications/cancelled') {
      const id = message.params['requestId'];
      if (typeof id === 'string' || typeof id === 'number') this.#cancel(id);
    } else this.#admit(message);
  }

  /** Resolves when every message taken so far has its answer. */
  settled(): Promise<void> {
    if (this.#atWork.size + this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  /** Ends every request. Each is answered with an error. */
  stop(): void {
    for (const entry of [...this.#atWork, ...this.#waiting])
      entry.controller.abort('stopped' satisfies Reason);
  }

  #admit(message: ForwardedMessage): void {
    const { id, bytes } = message;
    const { waitingMax, waitingBytesMax } = this.#options;
    // Without the id: the client would take it for the answer of the first request.
    if (id !== null && this.#byId.has(id))
      return this.#print(errorLine(null, -32_600, 'A request has the id of one that is not answered yet.'));
    const isFull = this.#waiting.length >= waitingMax || this.#waitingBytes + bytes.length > waitingBytesMax;
    if (isFull && !this.#hasPlace(message)) {
      const words = 'Too many messages wait for an answer. Send this one again after the next answer.';
      if (id === null) this.#options.log(`${message.method} was dropped. ${words}`);
      else this.#print(failure(id, words).line);
      return;
    }
    const entry = { message, controller: new AbortController() };
    if (id !== null) this.#byId.set(id, entry);
    this.#waiting.push(entry);
    this.#waitingBytes += bytes.length;
    this.#pump();
  }

  #pump(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      void this.#work(entry);
    }
    if (this.#atWork.size === 0) for (const resolve of this.#settled.splice(0)) resolve();
  }

  /** Takes the first message that has a place from those that wait. */
  #next(): Entry | undefined {
    const index = this.#waiting.findIndex(({ message }) => this.#hasPlace(message));
    const entry = index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
    if (entry === undefined) return undefined;
    this.#waitingBytes -= entry.message.bytes.length;
    this.#atWork.add(entry);
    return entry;
  }

  #hasPlace(message: ForwardedMessage): boolean {
    const atWork = [...this.#atWork].map((entry) => entry.message);
    const { atWorkMax, callsMax } = this.#options;
    // The version of later messages is that of its answer.
    if (atWork.length >= atWorkMax || atWork.some(isInitialize)) return false;
    return !mayTakeLong(message) || atWork.filter(mayTakeLong).length < callsMax;
  }

  async #work(entry: Entry): Promise<void> {
    await this.#forward(entry);
    this.#atWork.delete(entry);
    const { id } = entry.message;
    if (id !== null) this.#byId.delete(id);
    this.#pump();
  }

  async #forward({ message, controller }: Entry): Promise<void> {
    const { id, method, bytes } = message;
    const { post, log } = this.#options;
    const { signal } = controller;
    try {
      signal.throwIfAborted();
      const answer = await post(bytes, fieldsOf(message, this.#negotiated), signal);
      if (id === null) return await this.#closeNotification(method, answer);
      for await (const { line, message: answered } of linesOfAnswer(answer, id)) {
        signal.throwIfAborted();
        if (method === 'initialize') this.#agree(answered['result']);
        await this.#options.write(line);
      }
    } catch (error) {
      // The client that cancelled expects no answer.
      if (signal.reason === ('cancelled' satisfies Reason)) return;
      const words = signal.aborted ? 'svc mcp serve was stopped before the answer.' : wordsOf(error);
      log(`${method}: ${words}`);
      if (id !== null) await this.#options.write(failure(id, words).line).catch(() => undefined);
    }
  }

  async #closeNotification(method: string, answer: HttpAnswer): Promise<void> {
    const body = await answer.body();
    if (answer.status >= 400) this.#options.log(`${method} was refused: ${await answer.refusal(body)}`);
  }

  #agree(result: unknown): void {
    const version = isMembers(result) ? result['protocolVersion'] : undefined;
    if (typeof version === 'string') this.#negotiated = version;
  }

  #cancel(id: MessageId): void {
    this.#byId.get(id)?.controller.abort('cancelled' satisfies Reason);
  }

  #print(line: string): void {
    this.#options.write(line).catch(() => undefined);
  }
}

function isInitialize({ id, method }: ForwardedMessage): boolean {
  return id !== null && method === 'initialize';
}

/** Some tools wait for the end of their work. The one that ends work has to pass them. */
function mayTakeLong({ method, params }: ForwardedMessage): boolean {
  return method === 'tools/call' && params['name'] !== 'svc_tasks_cancel_v1';
}

function wordsOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RemoteFailure)) return words;
  return `${words} ${error.sent ? unknownOutcome : 'Nothing was executed: try again once the service answers.'}`;
}
