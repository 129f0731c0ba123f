import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalHttp } from './local-http.ts';

/**
 * The five calls of Cloud Storage's JSON API that the service makes, with the semantics that its documentation gives them:
 * https://cloud.google.com/storage/docs/json_api/v1/objects and .../multipart uploads, preconditions, pages, errors.
 */

export interface CloudObject {
  readonly generation: string;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly crc32c: string;
  content: Buffer;
}

/** A fault that replaces one call's answer, or changes it. */
export interface CloudFault {
  /** Only calls of this method; others wait for theirs. */
  readonly method?: string;
  /** This answer instead of the real one; without it the connection is cut. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the call is carried out all the same. */
  readonly applied?: boolean;
  /** Never answers; reports that it was called. */
  readonly hangs?: () => void;
  /** Cuts the connection in the middle of an object's content; other calls are left alone. */
  readonly torn?: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer | object | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export class CloudStorageServer implements AsyncDisposable {
  readonly bucket: string;
  readonly objects = new Map<string, CloudObject>();
  /** Method and path of each call. */
  readonly calls: string[] = [];
  faults: CloudFault[] = [];
  /** The bearer token that each answer requires; `null` requires none. */
  bearer: string | null = null;
  /** The server may return less than was requested. */
  pageSizeMax = 1000;
  /** Runs before an insertion checks for an existing object. */
  beforeInsert: (() => void) | undefined;
  afterRefusal: (() => void) | undefined;
  authorizations: (string | undefined)[] = [];
  endpoint = '';
  #generation = 1_700_000_000_000_000;
  #server: LocalHttp | null = null;

  constructor(bucket: string) {
    this.bucket = bucket;
  }

  static async start(bucket: string): Promise<CloudStorageServer> {
    const started = new CloudStorageServer(bucket);
    started.#server = await LocalHttp.start((...call) => started.#serve(...call));
    started.endpoint = started.#server.url;
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  #serve(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    this.calls.push(`${method} ${url}`);
    this.authorizations.push(request.headers.authorization);
    const isContent = url.includes('alt=media');
    const at = this.faults.findIndex(
      (each) => (each.method === undefined || each.method === method) && (each.torn !== true || isContent),
    );
    const [fault] = at === -1 ? [] : this.faults.splice(at, 1);
    if (fault?.hangs !== undefined) return fault.hangs();
    if (fault !== undefined && fault.torn !== true) {
      if (fault.applied === true) this.#answer(request, new URL(url, this.endpoint), body);
      if (fault.status === undefined) return void request.socket.destroy();
      return send(response, { ...problem(fault.status, 'injected'), headers: fault.headers ?? {} });
    }
    const answer = this.#answer(request, new URL(url, this.endpoint), body);
    if (fault?.torn === true && Buffer.isBuffer(answer.body)) {
      response.writeHead(answer.status, { 'content-length': answer.body.length });
      response.write(answer.body.subarray(0, answer.body.length >> 1), () => request.socket.destroy());
      return;
    }
    send(response, answer);
  }

  #answer(request: IncomingMessage, url: URL, body: Buffer): Answer {
    if (this.bearer !== null && request.headers.authorization !== `Bearer ${this.bearer}`) {
      return problem(401, 'Invalid Credentials');
    }
    const [, upload, bucket, name] =
      /^(\/upload)?\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (bucket === undefined) return problem(404, 'Not Found');
    if (bucket !== this.bucket) return problem(404, 'The specified bucket does not exist.');
    if (upload !== undefined) return this.#insert(request, url.searchParams, body);
    if (name === undefined) return this.#list(url.searchParams);
    const found = decodeURIComponent(name);
    return request.method === 'DELETE' ? this.#delete(found) : this.#get(found, url.searchParams);
  }

  #insert(request: IncomingMessage, query: URLSearchParams, body: Buffer): Answer {
    if (request.method !== 'POST' || query.get('uploadType') !== 'multipart')
      return problem(400, 'bad upload');
    const parts = related(request.headers['content-type'] ?? '', body);
    if (parts?.length !== 2) return problem(400, 'Malformed multipart body.');
    const [head, media] = parts as [RelatedPart, RelatedPart];
    const resource = JSON.parse(head.body.toString()) as {
      name: string;
      contentType?: string;
      crc32c?: string;
      metadata?: Record<string, string>;
    };
    this.beforeInsert?.();
    const current = this.objects.get(resource.name);
    const wanted = query.get('ifGenerationMatch');
    if (wanted !== null && wanted !== (current?.generation ?? '0')) {
      const refused = problem(412, 'At least one of the pre-conditions you specified did not hold.');
      this.afterRefusal?.();
      return refused;
    }
    const checksum = castagnoli(media.body);
    if (resource.crc32c !== undefined && resource.crc32c !== checksum) {
      return problem(
        400,
        `Provided CRC32C "${resource.crc32c}" doesn't match calculated CRC32C "${checksum}".`,
      );
    }
    this.#generation += 1;
    this.objects.set(resource.name, {
      generation: String(this.#generation),
      contentType: resource.contentType ?? media.contentType,
      metadata: resource.metadata ?? {},
      crc32c: checksum,
      content: media.body,
    });
    return { status: 200, body: { crc32c: checksum } };
  }

  #get(name: string, query: URLSearchParams): Answer {
    const object = this.objects.get(name);
    const generation = query.get('generation');
    if (object === undefined || (generation !== null && generation !== object.generation)) {
      return problem(404, `No such object: ${this.bucket}/${name}`);
    }
    if (query.get('alt') === 'media') return { status: 200, body: object.content };
    const { contentType, metadata, crc32c } = object;
    const size = String(object.content.length);
    return {
      status: 200,
      body: { name, size, generation: object.generation, contentType, metadata, crc32c },
    };
  }

  #delete(name: string): Answer {
    if (this.objects.delete(name)) return { status: 204, body: null };
    return problem(404, `No such object: ${this.bucket}/${name}`);
  }

  #list(query: URLSearchParams): Answer {
    const after = Buffer.from(query.get('pageToken') ?? '', 'base64url').toString();
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(query.get('prefix') ?? '') && name > after)
      .sort();
    const size = Math.min(Number(query.get('maxResults') ?? 1000), this.pageSizeMax);
    const page = names.slice(0, size);
    const next =
      names.length > size ? { nextPageToken: Buffer.from(page.at(-1) ?? '').toString('base64url') } : {};
    // As the real one does, without a member for a list that is empty.
    const items = page.length === 0 ? {} : { items: page.map((name) => ({ name })) };
    return { status: 200, body: { ...items, ...next } };
  }
}

interface RelatedPart {
  readonly contentType: string;
  readonly body: Buffer;
}

/** The parts of a `multipart/related` body (RFC 2387), by the boundary alone. */
function related(contentType: string, body: Buffer): RelatedPart[] | null {
  const [, boundary] = /^multipart\/related; boundary=([0-9a-z]+)$/.exec(contentType) ?? [];
  if (boundary === undefined) return null;
  const parts: RelatedPart[] = [];
  let at = body.indexOf(`--${boundary}\r\n`);
  while (at !== -1) {
    const headEnd = body.indexOf('\r\n\r\n', at);
    const end = body.indexOf(`\r\n--${boundary}`, headEnd);
    if (headEnd === -1 || end === -1) return null;
    const head = body.toString('latin1', at, headEnd);
    parts.push({
      contentType: /content-type: (.*)/i.exec(head)?.[1] ?? '',
      body: body.subarray(headEnd + 4, end),
    });
    at = body.indexOf(`--${boundary}\r\n`, end);
  }
  return body.subarray(-boundary.length - 6).equals(Buffer.from(`--${boundary}--\r\n`)) ? parts : null;
}

/** CRC-32C bit by bit, as its definition reads. */
function castagnoli(bytes: Buffer): string {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  }
  const text = Buffer.alloc(4);
  text.writeUInt32BE((value ^ 0xffffffff) >>> 0);
  return text.toString('base64');
}

function problem(code: number, message: string): Answer {
  return { status: code, body: { error: { code, message, errors: [{ message, domain: 'global' }] } } };
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  if (body === null) return void response.writeHead(status, headers).end();
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body, null, 2));
  const contentType = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json; charset=UTF-8';
  response
    .writeHead(status, { ...headers, 'content-type': contentType, 'content-length': bytes.length })
    .end(bytes);
}
