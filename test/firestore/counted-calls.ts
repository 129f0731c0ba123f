/**
 * A client that counts the calls of operations: each is a request to the service. The call of a helper is not counted.
 */
export function countingCalls<T extends object>(client: T, counted: () => void): T {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        // On the target itself: the calls that one operation makes inside are no requests.
        const result: unknown = member.apply(target, args);
        if (result instanceof Promise) counted();
        return result;
      };
    },
  });
}
