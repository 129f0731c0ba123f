export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** A promise that its owner resolves. `Promise.withResolvers` needs Node 22, and the dispatcher runs from Node 20 on. */
export function deferred(): Deferred {
  const kept: { resolve?: () => void } = {};
  const promise = new Promise<void>((resolve) => {
    kept.resolve = resolve;
  });
  return { promise, resolve: () => kept.resolve?.() };
}
