import { ServiceError } from '../kernel/errors.ts';

/** The header section of one part, as RFC 7578 section 4 uses it. */
export interface PartHead {
  readonly name: string;
  readonly fileName: string | null;
  readonly mediaType: string | null;
}

const FILE_NAME_LENGTH_MAX = 255;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function partHead(section: Buffer): PartHead {
  const fields = new Map<string, string>();
  // A line with leading white space continues the previous one (RFC 2046 section 5.1).
  for (const line of textOf(section)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const [, name = '', value = ''] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === '') throw malformed('A header field of a part is not well-formed.');
    const key = name.toLowerCase();
    if (fields.has(key)) throw malformed('A part has a header field twice.');
    fields.set(key, value.trim());
  }
  // RFC 7578 section 4.7 deprecates the field; a coded part would reach the handler undecoded.
  if (!/^(?:7bit|8bit|binary)$/i.test(fields.get('content-transfer-encoding') ?? 'binary'))
    throw malformed('A part has a transfer encoding.');
  const parameters = dispositionOf(fields.get('content-disposition') ?? '');
  const name = parameters.get('name') ?? '';
  // Another reader might take `name*` for the name.
  if (name === '' || [...parameters.keys()].some((each) => each.startsWith('name*'))) throw unnamed();
  return { name, fileName: fileNameIn(parameters), mediaType: fields.get('content-type') || null };
}

/** In quotes, `\` escapes a quote or another `\`; before any other character browsers mean a plain `\`. */
const PARAMETER = /[ \t]*;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"\\,]+))/y;

/** The parameters of `form-data`. Unknown ones are allowed (RFC 2183 section 2.8). */
function dispositionOf(field: string): ReadonlyMap<string, string> {
  const type = /^form-data(?=[ \t]*;|$)/i.exec(field)?.[0];
  if (type === undefined) throw unnamed();
  const found = parametersIn(field.slice(type.length));
  if (found === null)
    throw malformed('The parameters in the Content-Disposition of a part are not well-formed.');
  return found;
}

/** Parameters by their lower-case names, each once; `null` where they are malformed. A `;` at the end is no fault. */
export function parametersIn(text: string): ReadonlyMap<string, string> | null {
  const found = new Map<string, string>();
  for (let at = 0; !['', ';'].includes(text.slice(at).trim()); ) {
    PARAMETER.lastIndex = at;
    const [whole, key = '', quoted, plain = ''] = PARAMETER.exec(text) ?? [];
    const word = key.toLowerCase();
    if (whole === undefined || found.has(word)) return null;
    found.set(word, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain);
    at += whole.length;
  }
  return found;
}

/**
 * `filename*` (RFC 8187) goes before `filename`: clients that send both, as .NET does, write into the second what old readers
 * understand. RFC 7578 section 4.2 asks senders not to use it, and they do.
 */
function fileNameIn(parameters: ReadonlyMap<string, string>): string | null {
  const extended = parameters.get('filename*');
  const text = extended === undefined ? parameters.get('filename') : extendedValue(extended);
  return text === undefined || text === '' ? null : fileNameOf(text);
}

/** A charset, a language that is not read, and the text in percent-encoding. */
function extendedValue(text: string): string {
  const [, charset = '', encoded = ''] =
    /^(utf-8|iso-8859-1)'[A-Za-z0-9-]*'((?:[!#$&+\-.^_`|~0-9A-Za-z]|%[0-9A-Fa-f]{2})*)$/i.exec(text) ?? [];
  if (charset === '') throw malformed('The extended file name of a part is not well-formed.');
  const decoded = Buffer.from(
    encoded.replaceAll(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
  return charset.toLowerCase() === 'utf-8' ? textOf(decoded) : decoded.toString('latin1');
}

/** A plain name without a path: some clients send the whole path of the file. */
function fileNameOf(text: string): string {
  if (text.length > FILE_NAME_LENGTH_MAX || /[/\\\p{Cc}]/u.test(text) || text === '.' || text === '..')
    throw malformed('The file name of a part is too long, a path, or holds control characters.');
  return text;
}

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed('The header fields of a part are not UTF-8.');
  }
}

function unnamed(): ServiceError {
  return malformed('The Content-Disposition of a part does not name it as form-data.');
}

export function malformed(detail: string): ServiceError {
  return new ServiceError('malformed_request', detail);
}
