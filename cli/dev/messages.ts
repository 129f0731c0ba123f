/** What the process of the worker reports to `svc dev`. */
export type FromWorker =
  /** A file that the worker has loaded: its change reloads the worker. */
  | { readonly kind: 'loaded'; readonly path: string }
  /** The service knows these handlers, and the worker takes runs. */
  | { readonly kind: 'ready'; readonly handlerIds: readonly string[] }
  /** The worker cannot run. Its process ends. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Asks the process to give its runs back and to end. */
export interface ToWorker {
  readonly kind: 'stop';
}
