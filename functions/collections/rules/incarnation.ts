const BYTES = 16;
const form = /^[0-9a-f]{32}$/;

declare const incarnation: unique symbol;

/**
 * One generation of a collection's records. Deleting or replacing a collection gives its name another incarnation, so that all
 * records of the earlier one become unreachable at once, in any number.
 */
export type Incarnation = string & { readonly [incarnation]: true };

/** The incarnation with the name of these 16 random bytes: 32 hexadecimal digits. */
export function incarnationOf(bytes: Uint8Array): Incarnation {
  if (bytes.length !== BYTES) throw new TypeError(`an incarnation has ${BYTES} bytes`);
  return Buffer.from(bytes).toString('hex') as Incarnation;
}

/** Whether a stored text is an incarnation. */
export function isIncarnation(text: string): text is Incarnation {
  return form.test(text);
}
