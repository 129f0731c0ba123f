/**
 * A JSON value as its text on the wire. A JavaScript object would lose the order of names that look like integers, and the
 * spelling of numbers.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
