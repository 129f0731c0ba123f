/**
 * A JSON value as the text that stands for it on the wire. An object of the engine loses what some texts must keep: the order of
 * names that look like integers, and the spelling of numbers.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
