/** Values that foreign code may throw and whose members throw in their turn, each by its name. */
export function hostileErrors(
  Failure: new (failureClass: string, message: string) => Error,
): ReadonlyMap<string, unknown> {
  const fail = (): never => {
    throw new Error('canary');
  };
  const getters = (names: readonly string[], made: Error) => {
    for (const name of names) Object.defineProperty(made, name, { get: fail });
    return made;
  };
  const members = ['message', 'name', 'stack', 'code', 'cause', 'constructor', 'failureClass', 'status'];
  const revoked = Proxy.revocable(new Error('gone'), {});
  revoked.revoke();
  const traps = { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail, getOwnPropertyDescriptor: fail };
  return new Map<string, unknown>([
    ...members.map((name) => [`an error whose ${name} throws`, getters([name], new Error('m'))] as const),
    ...members.map(
      (name) => [`a failure whose ${name} throws`, getters([name], new Failure('c', 'm'))] as const,
    ),
    ['a failure whose members all throw', getters(members, new Failure('c', 'm'))],
    ['a failure whose message is a symbol', Object.assign(new Failure('c', 'm'), { message: Symbol('m') })],
    [
      'a failure whose message is no text',
      Object.assign(new Failure('c', 'm'), { message: { toString: fail } }),
    ],
    ['an error without a prototype', Object.setPrototypeOf(new Error('m'), null)],
    ['an error that is a revoked proxy', revoked.proxy],
    ['an error that is a proxy', new Proxy(new Error('m'), traps)],
    ['an object whose toString throws', { toString: fail, toJSON: fail }],
    ['an object without a prototype', Object.create(null)],
    ['a symbol', Symbol('m')],
    ['a function', fail],
    ['nothing', undefined],
    ['a big integer', 7n],
  ]);
}
