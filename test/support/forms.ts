/** Forms (RFC 7578) as tests send them: right ones, and ones that no client library writes. */

const BOUNDARY = 'boundary-of-a-test';

export interface FormPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly fileName?: string;
  readonly mediaType?: string;
}

export interface Form {
  readonly headers: { readonly 'Content-Type': string };
  readonly body: Buffer;
}

export function formOf(parts: readonly FormPart[]): Form {
  const sections = parts.flatMap(({ name, content, fileName, mediaType }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`,
    fileName === undefined ? '' : `; filename="${fileName}"`,
    mediaType === undefined ? '' : `\r\nContent-Type: ${mediaType}`,
    '\r\n\r\n',
    content,
    '\r\n',
  ]);
  const body = Buffer.concat([...sections, `--${BOUNDARY}--\r\n`].map((each) => Buffer.from(each)));
  return { headers: { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }, body };
}

/**
 * A form of an object with a part for each member, as text. Members of the names in `bytes` go out as they are and come last; all
 * others are JSON, so that a member of a wrong kind arrives as what it is.
 */
export function formText(
  members: Readonly<Record<string, unknown>>,
  bytes: ReadonlySet<string>,
): { readonly mediaType: string; readonly text: string } {
  const entries = Object.entries(members);
  const isBytes = ([name, value]: readonly [string, unknown]) => bytes.has(name) && typeof value === 'string';
  const parts = [...entries.filter((each) => !isBytes(each)), ...entries.filter(isBytes)].map(
    ([name, value]): FormPart => ({
      name,
      content: bytes.has(name) && typeof value === 'string' ? value : JSON.stringify(value),
    }),
  );
  const { headers, body } = formOf(parts);
  return { mediaType: headers['Content-Type'], text: body.toString() };
}

/** The form of an artifact with its record. A text is the manifest as it is. */
export function artifactForm(
  manifest: object | string,
  bytes: Uint8Array | string,
  mediaType?: string,
): Form {
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
  const type = mediaType === undefined ? {} : { mediaType };
  return formOf([
    { name: 'manifest', content: text, mediaType: 'application/json' },
    { name: 'artifact', content: bytes, fileName: 'a.bin', ...type },
  ]);
}
