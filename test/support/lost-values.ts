/** Values that `JSON.stringify` silently writes as another value, each by its name. */
export const lostValues: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['a Map', new Map([['a', 1]])],
  ['a Set', new Set([1])],
  ['a promise', Promise.resolve(1)],
  ['an error', new Error('m')],
  ['a regular expression', /a/],
  ['bytes', new Uint8Array([1])],
  ['a buffer', new ArrayBuffer(1)],
  ['a date without a time', new Date(Number.NaN)],
  ['a function', () => 1],
  ['a symbol', Symbol('a')],
  ['a big integer', 1n],
]);

class Receipt {
  readonly paid = true;
  readonly note = undefined;
}

/** Values that JSON can hold, with their texts. */
export const keptValues: ReadonlyMap<string, readonly [unknown, unknown]> = new Map([
  ['null', [null, null]],
  ['an object with an absent member', [{ a: 1, b: undefined }, { a: 1 }]],
  ['an object of a class', [new Receipt(), { paid: true }]],
  ['an object without a prototype', [Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }]],
  ['a date', [new Date(0), '1970-01-01T00:00:00.000Z']],
  ['an address', [new URL('http://a.example/'), 'http://a.example/']],
  ['a member that says its JSON', [{ at: { toJSON: () => 7 } }, { at: 7 }]],
]);
