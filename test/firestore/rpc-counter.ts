import type { Firestore } from '@google-cloud/firestore';

type Funnel = (method: string, ...rest: unknown[]) => Promise<unknown>;
interface Funnels {
  request: Funnel;
  requestStream: Funnel;
}

export interface RpcCounter {
  /** How often each RPC was sent since the last call of this function. */
  take(): Record<string, number>;
}

/** All calls of the client pass two functions that its types leave out; both are wrapped. */
export function countRpcs(client: Firestore): RpcCounter {
  let counts: Record<string, number> = {};
  wrapRpcs(client, (method, send) => {
    counts[method] = (counts[method] ?? 0) + 1;
    return send();
  });
  return {
    take() {
      const taken = counts;
      counts = {};
      return taken;
    },
  };
}

/** `around` sees every RPC, and may count, break or drop it. `request` is the message. */
export function wrapRpcs(
  client: Firestore,
  around: (method: string, send: () => Promise<unknown>, request: unknown) => Promise<unknown>,
): void {
  const funnels = client as unknown as Funnels;
  for (const [name, position] of [
    ['request', 0],
    ['requestStream', 1],
  ] as const) {
    const original = funnels[name].bind(client);
    funnels[name] = (method, ...rest) => around(method, () => original(method, ...rest), rest[position]);
  }
}

export function grpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
