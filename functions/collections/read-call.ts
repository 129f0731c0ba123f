/** The request of a read of many records: the count of its bytes, and its signal. */
export interface ReadCall {
  /** Counts bytes before the process holds them; throws if all requests together hold too many. */
  readonly grow?: (bytes: number) => void;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal;
}

/** The bytes that one attempt of a call holds. */
export interface AttemptBytes {
  readonly add: (bytes: number) => void;
  readonly drop: (bytes: number) => void;
}

/** Begins an attempt of a call. A call may start over: only the bytes beyond all earlier attempts are counted. */
export function attemptsOf({ grow = () => undefined }: ReadCall): () => AttemptBytes {
  let most = 0;
  return () => {
    let held = 0;
    return {
      add(bytes) {
        held += bytes;
        if (held <= most) return;
        grow(held - most);
        most = held;
      },
      drop(bytes) {
        held -= bytes;
      },
    };
  };
}
