import type { RunScope } from './run.ts';

/** Decides whether a principal may start a handler; throws where it may not. */
export interface StartAccess {
  authorizeStart(
    caller: { readonly kind: 'workload'; readonly principal: string },
    scope: RunScope | null,
    handlerId: string,
  ): void;
}
