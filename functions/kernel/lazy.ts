/** A resource that the first call opens and all callers share. After a failed opening the next call tries again. */
export interface Lazy<T> {
  readonly get: () => Promise<T>;
  /** Releases the resource; later calls of `get` are rejected. */
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
