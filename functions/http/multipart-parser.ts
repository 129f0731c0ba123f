import { ServiceError } from '../kernel/errors.ts';

/**
 * Splits a multipart body (RFC 2046 section 5.1) into its parts while it arrives, holding at most one header section or one
 * delimiter. Pulls instead of being pushed, so that a slow reader slows the client. Stricter than the libraries that were
 * weighed: text around the parts, an unnamed part or a missing end is an error and never skipped.
 */

/** The header section of one part, as RFC 7578 section 4 uses it. */
export interface PartHead {
  readonly name: string;
  readonly fileName: string | null;
  readonly mediaType: string | null;
}

const HEADER_BYTES_MAX = 8 * 1024;
const FILE_NAME_LENGTH_MAX = 255;
const lineEnd = Buffer.from('\r\n');
const headerEnd = Buffer.from('\r\n\r\n');
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The boundary of a Content-Type field: 1 to 70 characters that a delimiter line may hold. */
export function boundaryOf(contentType: string): string {
  const boundaries = [...contentType.matchAll(/;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/gi)];
  const [, quoted, plain] = boundaries[0] ?? [];
  const boundary = quoted ?? plain ?? '';
  if (boundaries.length !== 1 || !/^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary))
    throw malformed('The Content-Type names no boundary, or no valid one.');
  return boundary;
}

export class MultipartParser {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #delimiter: Buffer;
  /** Bytes that arrived and are not handed on yet. Begins with a line end, so that all delimiters look alike. */
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
      await this.#hold(this.#delimiter.length);
      if (!this.#held.subarray(0, this.#delimiter.length).equals(this.#delimiter))
        throw malformed('The form does not begin with its boundary.');
      this.#drop(this.#delimiter.length);
    } else if (this.#state === 'content') {
      for await (const _ of this.content()) continue;
    }
    await this.#hold(2);
    const mark = this.#held.toString('latin1', 0, 2);
    this.#drop(2);
    if (mark === '--') return this.#finish();
    if (mark !== '\r\n') throw malformed('A boundary of the form is followed by other text.');
    const head = headOf(await this.#headerSection());
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

  /** Behind the end there may be one line end and nothing else. */
  async #finish(): Promise<null> {
    this.#state = 'end';
    for (;;) {
      if (this.#held.length > lineEnd.length || !lineEnd.subarray(0, this.#held.length).equals(this.#held))
        throw malformed('The form is followed by other text.');
      const { value, done } = await this.#chunks.next();
      if (done === true) return null;
      this.#held = Buffer.concat([this.#held, value]);
    }
  }

  async #hold(size: number): Promise<void> {
    while (this.#held.length < size) await this.#more();
  }

  async #more(): Promise<void> {
    const step = await this.#chunks.next();
    if (step.done === true) throw malformed('The form ends before its last boundary.');
    const { buffer, byteOffset, byteLength } = step.value;
    const chunk = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
  }

  #drop(size: number): void {
    this.#held = this.#held.subarray(size);
  }
}

function headOf(section: Buffer): PartHead {
  const fields = new Map<string, string>();
  for (const line of textOf(section).split('\r\n')) {
    const [, name = '', value = ''] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === '') throw malformed('A header field of a part is not well-formed.');
    const key = name.toLowerCase();
    if (fields.has(key)) throw malformed('A part has a header field twice.');
    fields.set(key, value.trim());
  }
  // RFC 7578 section 4.7 deprecates the field; a coded part would reach the handler undecoded.
  if (!/^(?:7bit|8bit|binary)$/i.test(fields.get('content-transfer-encoding') ?? 'binary'))
    throw malformed('A part has a transfer encoding.');
  const { name, fileName } = dispositionOf(fields.get('content-disposition') ?? '');
  return { name, fileName, mediaType: fields.get('content-type') ?? null };
}

function textOf(section: Buffer): string {
  try {
    return utf8.decode(section);
  } catch {
    throw malformed('The header fields of a part are not UTF-8.');
  }
}

/** `form-data` with one `name` and at most one `filename`; RFC 7578 section 4.2 forbids `filename*`. */
function dispositionOf(field: string): Pick<PartHead, 'name' | 'fileName'> {
  const parameter = /;[ \t]*(name|filename)=(?:"((?:[^"\\]|\\["\\])*)"|([^\s;"\\,]+))/iy;
  let at = /^form-data[ \t]*/i.exec(field)?.[0].length ?? -1;
  const found: { name?: string; filename?: string } = {};
  while (at >= 0 && at < field.length) {
    parameter.lastIndex = at;
    const [whole, key = '', quoted, plain = ''] = parameter.exec(field) ?? [];
    const word = key.toLowerCase() as 'name' | 'filename';
    if (whole === undefined || found[word] !== undefined) {
      at = -1;
      break;
    }
    found[word] = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain;
    at += whole.length;
  }
  if (at < 0 || found.name === undefined || found.name === '')
    throw malformed('The Content-Disposition of a part does not name it as form-data.');
  return { name: found.name, fileName: found.filename === undefined ? null : fileNameOf(found.filename) };
}

/** A plain name without a path: some clients send the whole path of the file. */
function fileNameOf(text: string): string | null {
  if (text === '') return null;
  if (text.length > FILE_NAME_LENGTH_MAX || /[/\\\p{Cc}]/u.test(text) || text === '.' || text === '..')
    throw malformed('The file name of a part is too long, a path, or holds control characters.');
  return text;
}

function malformed(detail: string): ServiceError {
  return new ServiceError('malformed_request', detail);
}
