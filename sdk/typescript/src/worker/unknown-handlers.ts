import type { Call } from '../call.ts';
import type { Logger } from './log.ts';

/** Tells the log which handlers the service does not know: once each, and again after the service has known one. */
export class UnknownHandlers {
  readonly #log: Logger;
  #logged: ReadonlySet<string> = new Set();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The content of the answer to a lease call, whose header names them. */
  async answerOf<T>(call: Call<T>): Promise<T> {
    const { data, response } = await call.withResponse();
    this.#heard(response.headers.get('svc-unknown-handlers'));
    return data;
  }

  #heard(field: string | null): void {
    const unknown = field === null ? [] : field.split(',').map((name) => decoded(name.trim()));
    for (const handlerId of unknown) {
      if (this.#logged.has(handlerId)) continue;
      const message = `the service does not know the handler ${handlerId}, so this worker gets no run of it: the setting ExecutionRuntime:ExternalHandlers of the service does not name it, or its grants and product policies exclude it; the log of the service says which`;
      this.#log({ level: 'warning', message, handlerId });
    }
    this.#logged = new Set(unknown);
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
