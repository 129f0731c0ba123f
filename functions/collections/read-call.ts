/** What a read of many records has of the request that it answers. */
export interface ReadCall {
  /** Counts bytes before the process holds them; throws where requests hold too many. */
  readonly grow?: (bytes: number) => void;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal;
}

/** The bytes that one attempt of a call holds. */
export interface AttemptBytes {
  readonly add: (bytes: number) => void;
  readonly drop: (bytes: number) => void;
}

/** Begins an attempt of a call. A call may read again from its beginning: only what exceeds all earlier attempts is counted. */
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
