import type { BinaryContent, FilePart, OperationName, PartSpec } from './operation.ts';
import { checkNames, jsonText } from './request-faults.ts';

export interface EncodedBody {
  readonly body: Blob | ReadableStream<Uint8Array>;
  readonly contentType: string;
  /** The errors of the caller's stream; absent if there is no stream, so that the client can send the body again. */
  readonly failures?: readonly unknown[];
}

/**
 * A multipart body (RFC 7578). Blobs and bytes become one Blob, whose length the platform knows. If one part is a stream,
 * the whole body is a stream.
 */
export function multipart(
  operation: OperationName,
  specs: readonly PartSpec[],
  values: Readonly<Record<string, unknown>>,
  boundary: string,
): EncodedBody {
  checkNames(
    operation,
    values,
    specs.map(({ name }) => name),
  );
  const chunks: (BinaryContent | string)[] = [];
  for (const { name, binary } of specs) {
    const value = values[name];
    if (value === undefined || value === null) continue;
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (binary) {
      const { content, filename = name, contentType = 'application/octet-stream' } = value as FilePart;
      const type = contentType.replace(/[\r\n]/g, '');
      chunks.push(
        `${disposition}; filename="${quoted(filename)}"\r\nContent-Type: ${type}\r\n\r\n`,
        content,
        '\r\n',
      );
    } else {
      chunks.push(
        `${disposition}\r\nContent-Type: application/json\r\n\r\n${jsonText(operation, value, `/${name}`)}\r\n`,
      );
    }
  }
  chunks.push(`--${boundary}--\r\n`);
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const sized = chunks.filter((chunk) => typeof chunk === 'string' || !isStream(chunk)) as SizedContent[];
  return sized.length === chunks.length
    ? { body: new Blob(sized), contentType }
    : { ...streamOf(chunks), contentType };
}

export function bytesBody(content: BinaryContent): Omit<EncodedBody, 'contentType'> {
  return isStream(content) ? streamOf([content]) : { body: blobOf(content) };
}

type SizedContent = string | Blob | ArrayBuffer;
type Stream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

function isStream(content: BinaryContent): content is Stream {
  return !(content instanceof Blob || content instanceof ArrayBuffer || ArrayBuffer.isView(content));
}

function blobOf(content: Exclude<BinaryContent, Stream>): Blob {
  return content instanceof Blob ? content : new Blob([content as ArrayBuffer]);
}

/** Reads the chunks on demand and buffers nothing. */
function streamOf(chunks: readonly (BinaryContent | string)[]): Omit<EncodedBody, 'contentType'> {
  const bytes = allBytes(chunks);
  const failures: unknown[] = [];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next().catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await bytes.return(undefined);
    },
  });
  return { body, failures };
}

async function* allBytes(chunks: readonly (BinaryContent | string)[]): AsyncGenerator<Uint8Array, undefined> {
  for (const chunk of chunks) {
    if (typeof chunk === 'string') yield new TextEncoder().encode(chunk);
    else if (!isStream(chunk)) yield* readable(blobOf(chunk).stream());
    else yield* 'getReader' in chunk ? readable(chunk) : chunk;
  }
}

/** Some browsers cannot iterate a stream. */
async function* readable(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel();
  }
}

/** Escapes a name as browsers do in this header. */
function quoted(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
