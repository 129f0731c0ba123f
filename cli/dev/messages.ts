/** What the process of the worker reports to `svc dev`. */
export type FromWorker =
  /** A file that the worker has loaded, or has missed: its change reloads the worker. */
  | { readonly kind: 'loaded'; readonly path: string }
  /** The worker takes runs. `unknownIds` are the handlers of which the service gives it none. */
  | { readonly kind: 'ready'; readonly handlerIds: readonly string[]; readonly unknownIds: readonly string[] }
  /** The worker cannot run. Its process ends. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Asks the process to give its runs back and to end. */
export interface ToWorker {
  readonly kind: 'stop';
}
