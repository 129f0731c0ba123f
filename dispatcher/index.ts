/** What `@svc-runtime/dispatcher` exports. */
export type { Backoff } from './backoff.ts';
export {
  type CallFailure,
  type CallOptions,
  type Hold,
  type LeaseRequest,
  OutboxCallError,
  type OutboxClient,
  type OutboxEvent,
  type OutboxLease,
  type Release,
} from './client.ts';
export { Dispatcher } from './dispatcher.ts';
export { type AbortReason, DeliveryAborted, NoHandlerError, RetryAfter } from './errors.ts';
export { HttpOutboxClient, type HttpOutboxClientOptions, type OutgoingHttp } from './http-client.ts';
export type {
  DispatcherEvent,
  DispatcherOptions,
  ErrorContext,
  Handler,
  HandlerContext,
} from './options.ts';
export type { DispatcherWorld } from './world.ts';
