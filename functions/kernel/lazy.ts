/** A resource that the first call opens, that all callers share, and that a failed opening leaves to the next call. */
export interface Lazy<T> {
  readonly get: () => Promise<T>;
  /** Lets go of what was opened; nothing is opened any more. */
  readonly close: () => Promise<void>;
}

export function lazy<T>(open: () => Promise<T>, release: (resource: T) => Promise<void>): Lazy<T> {
  let opening: Promise<T> | undefined;
  let closed = false;
  return {
    get() {
      if (closed) return Promise.reject(new Error('the service is stopping'));
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async close() {
      closed = true;
      const opened = await opening?.catch(() => undefined);
      if (opened !== undefined) await release(opened);
    },
  };
}
