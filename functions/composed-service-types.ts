/** The types of `@svc-runtime/server/compose`. This file imports nothing, so that its declarations stand alone in the package. */

export interface ComposedServiceOptions {
  /** By their documented keys, such as `Server:ApiKeys:0`. Neither the environment nor a settings file is read. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds since 1970-01-01T00:00:00Z; the clock of the machine by default. */
  readonly clock?: { now(): number } | undefined;
  /** `size` unpredictable bytes; those of the machine by default. */
  readonly random?: { bytes(size: number): Uint8Array } | undefined;
  /** Calls back once after `delayMs`, and returns a function that cancels it; the timers of the machine by default. */
  readonly timers?: { after(delayMs: number, callback: () => void): () => void } | undefined;
  /** Outgoing HTTP; that of the machine by default. */
  readonly http?: ((input: string | URL, init?: RequestInit) => Promise<Response>) | undefined;
  /** Receives each line of the log; no line is written by default. */
  readonly writeLog?: ((line: string) => void) | undefined;
}

/** The whole service in this process, with its database and without a socket. */
export interface ComposedService {
  /** Answers a request as the server would; the host of the address is not used. Can stand for `fetch` in a client. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Starts the work beside requests: handlers of this process, timers, and runs that an earlier process left. */
  start(): Promise<void>;
  /** Ends the work and closes the database. */
  close(): Promise<void>;
}

export type ComposeService = (options?: ComposedServiceOptions) => Promise<ComposedService>;
