import { malformed, type PartHead, parametersIn, partHead } from './multipart-head.ts';

/**
 * Splits a multipart body (RFC 2046 section 5.1) into its parts while it arrives, holding at most one header section or one
 * delimiter. Pulls instead of being pushed, so that a slow reader slows the client. Stricter than the libraries that were
 * weighed: an unnamed part or a missing end is an error and never skipped. Text before the first boundary and behind the last one is
 * skipped, as the RFC says, unless it holds the boundary: another reader might find a part there.
 */

const HEADER_BYTES_MAX = 8 * 1024;
/** White space behind a boundary, which a gateway may add. */
const PADDING_BYTES_MAX = 64;
const TEXT_ASIDE_BYTES_MAX = 64 * 1024;
const lineEnd = Buffer.from('\r\n');
const headerEnd = Buffer.from('\r\n\r\n');
const [SPACE, TAB, HYPHENS] = [0x20, 0x09, Buffer.from('--')];

/** The boundary of a Content-Type field: 1 to 70 characters that a delimiter line may hold. */
export function boundaryOf(contentType: string): string {
  const parameters = parametersIn(contentType.replace(/^[^;]*/, ''));
  const boundary = parameters?.get('boundary') ?? '';
  if (!/^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary))
    throw malformed('The Content-Type names no boundary, or no valid one.');
  return boundary;
}

export class MultipartParser {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #delimiter: Buffer;
  /**
   * Bytes that arrived and are not handed on yet. They start with a line end, so that all delimiters have the same
   * form.
   */
  #held: Buffer = lineEnd;
  #state: 'start' | 'content' | 'delimited' | 'end' = 'start';

  constructor(chunks: AsyncIterable<Uint8Array>, boundary: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** The head of the next part, behind the content of the one before; `null` at the end of the form. */
  async next(): Promise<PartHead | null> {
    if (this.#state === 'end') return null;
    if (this.#state === 'start') {
      const aside = this.#textAside();
      for await (const text of this.content()) aside.pass(text);
    } else if (this.#state === 'content') {
      for await (const _ of this.content()) continue;
    }
    await this.#hold(HYPHENS.length);
    const isLast = this.#begins(HYPHENS);
    if (isLast) this.#drop(HYPHENS.length);
    await this.#skipPadding();
    if (isLast) return this.#finish();
    await this.#hold(lineEnd.length);
    if (!this.#begins(lineEnd)) throw malformed('A boundary of the form is followed by other text.');
    this.#drop(lineEnd.length);
    const head = partHead(await this.#headerSection());
    this.#state = 'content';
    return head;
  }

  /** The bytes of the current part, as they arrive. */
  async *content(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const at = this.#held.indexOf(this.#delimiter);
      // The last bytes may be the beginning of a delimiter.
      const safe = at >= 0 ? at : this.#held.length - this.#delimiter.length + 1;
      if (safe > 0) {
        const bytes = this.#held.subarray(0, safe);
        this.#drop(safe);
        yield bytes;
      }
      if (at >= 0) break;
      await this.#more();
    }
    this.#drop(this.#delimiter.length);
    this.#state = 'delimited';
  }

  async #headerSection(): Promise<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(headerEnd);
      if (at > HEADER_BYTES_MAX || (at < 0 && this.#held.length > HEADER_BYTES_MAX))
        throw malformed(`The header fields of a part take more than ${HEADER_BYTES_MAX} bytes.`);
      if (at >= 0) {
        const section = this.#held.subarray(0, at);
        this.#drop(at + headerEnd.length);
        return section;
      }
      await this.#more();
    }
  }

  async #skipPadding(): Promise<void> {
    for (let skipped = 0; skipped < PADDING_BYTES_MAX; skipped += 1) {
      if (this.#held.length === 0 && !(await this.#pull())) return;
      if (this.#held[0] !== SPACE && this.#held[0] !== TAB) return;
      this.#drop(1);
    }
  }

  /** Behind the last boundary there is nothing, or a line end and then any text. */
  async #finish(): Promise<null> {
    this.#state = 'end';
    while (this.#held.length < lineEnd.length) if (!(await this.#pull())) break;
    if (!lineEnd.subarray(0, this.#held.length).equals(this.#held.subarray(0, lineEnd.length)))
      throw malformed('The last boundary of the form is followed by other text.');
    const aside = this.#textAside();
    do {
      aside.pass(this.#held);
      this.#drop(this.#held.length);
    } while (await this.#pull());
    return null;
  }

  #textAside(): TextAside {
    return new TextAside(this.#delimiter.subarray(lineEnd.length));
  }

  #begins(text: Buffer): boolean {
    return this.#held.subarray(0, text.length).equals(text);
  }

  async #hold(size: number): Promise<void> {
    while (this.#held.length < size) await this.#more();
  }

  async #more(): Promise<void> {
    if (!(await this.#pull())) throw malformed('The form ends before its last boundary.');
  }

  async #pull(): Promise<boolean> {
    const step = await this.#chunks.next();
    if (step.done === true) return false;
    const { buffer, byteOffset, byteLength } = step.value;
    const chunk = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return true;
  }

  #drop(size: number): void {
    this.#held = this.#held.subarray(size);
  }
}

/** The text around the parts. Refuses the boundary in it, also in several pieces. */
class TextAside {
  readonly #boundary: Buffer;
  #last: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(boundary: Buffer) {
    this.#boundary = boundary;
  }

  pass(text: Uint8Array): void {
    this.#size += text.byteLength;
    if (this.#size > TEXT_ASIDE_BYTES_MAX)
      throw malformed('There is too much text around the parts of the form.');
    const joined = Buffer.concat([this.#last, text]);
    if (joined.includes(this.#boundary))
      throw malformed('The text around the parts of the form holds its boundary.');
    this.#last = joined.subarray(Math.max(0, joined.length - this.#boundary.length + 1));
  }
}
