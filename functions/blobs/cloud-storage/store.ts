import type { OutgoingHttp, RandomSource, Timers } from '../../kernel/world.ts';
import {
  type BlobAttributes,
  BlobError,
  type BlobListRequest,
  type BlobPage,
  type BlobStore,
  type StoredBlob,
} from '../port.ts';
import {
  blobUri,
  checkContent,
  checkKey,
  checkPageSize,
  checkPrefix,
  checkPut,
  checkReadable,
  isKey,
  OpenCalls,
  pageSizeMax,
} from '../rules.ts';
import { crc32c } from './crc32c.ts';
import { applicationDefault } from './credentials.ts';
import { jsonBytesMax, refusal, type StorageAnswer, StorageRequests } from './requests.ts';

/**
 * Objects in a bucket of Google Cloud Storage, by its JSON API:
 * https://cloud.google.com/storage/docs/json_api/v1/objects.
 */

export interface CloudStorageBlobsOptions {
  readonly bucket: string;
  /** Another server that speaks this API, such as `http://127.0.0.1:4443`. It is sent no credentials. */
  readonly endpoint?: string;
  readonly http: OutgoingHttp;
  readonly timers: Timers;
  readonly random: RandomSource;
}

const googleEndpoint = 'https://storage.googleapis.com';
/** The member with the hash; no name of the port's metadata starts like this. */
const hashName = 'svc-sha256';
/** Deletions under way at once. */
const lanes = 8;
/** The object that conflicted with a put may be removed before it is read. */
const createTriesMax = 4;

/** Nothing is contacted before the first call. */
export function openCloudStorageBlobs({ bucket, endpoint, ...world }: CloudStorageBlobsOptions): BlobStore {
  // The bucket is a setting, and a path of the API as well.
  if (!/^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/.test(bucket)) throw new TypeError('not the name of a bucket');
  const requests = new StorageRequests({
    ...world,
    endpoint: endpoint?.replace(/\/$/, '') ?? googleEndpoint,
    credentials: endpoint === undefined ? applicationDefault(world.http) : null,
  });
  return new CloudStorageBlobs(bucket, requests, world.random);
}

/** The requested members of an object's resource. */
interface ObjectResource {
  readonly size: string;
  readonly generation: string;
  readonly contentType?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

interface ObjectList {
  readonly items?: readonly { readonly name: string }[];
  readonly nextPageToken?: string;
}

class CloudStorageBlobs implements BlobStore {
  readonly provider = 'cloud-storage';
  readonly #bucket: string;
  readonly #requests: StorageRequests;
  readonly #random: RandomSource;
  readonly #calls = new OpenCalls();

  constructor(bucket: string, requests: StorageRequests, random: RandomSource) {
    this.#bucket = bucket;
    this.#requests = requests;
    this.#random = random;
  }

  put(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<void> {
    return this.#calls.during(async () => {
      await checkPut(key, bytes, attributes);
      for (let tries = 1; tries <= createTriesMax; tries++) {
        if (await this.#create(key, bytes, attributes)) return;
        // The object may be another caller's, or our own: the answer to the try that created it may have been lost.
        const stored = await this.#resource(key);
        if (stored === null) continue;
        const same = stored.metadata?.[hashName] === attributes.sha256;
        if (same && stored.size === String(bytes.byteLength)) return;
        throw new BlobError('conflict', 'the key holds another object');
      }
      throw new BlobError('unavailable', 'others made and removed the object each time');
    });
  }

  get(key: string, bytesMax: number): Promise<StoredBlob | null> {
    return this.#calls.during(async () => {
      checkKey(key);
      const resource = await this.#resource(key);
      if (resource === null) return null;
      const sizeBytes = Number(resource.size);
      checkReadable(sizeBytes, bytesMax);
      const { [hashName]: sha256 = '', ...metadata } = resource.metadata ?? {};
      // Names the object of the resource, in case the key is written again in between.
      const query = `alt=media&generation=${encodeURIComponent(resource.generation)}`;
      const answer = await this.#requests.send({
        method: 'GET',
        path: `${this.#path(key)}?${query}`,
        answerBytesMax: sizeBytes,
        answerBytes: sizeBytes,
      });
      if (answer.status === 404) return absent(answer);
      if (answer.status !== 200) throw refusal(answer);
      await checkContent(answer.body, sha256);
      return { bytes: answer.body, contentType: resource.contentType ?? '', sha256, metadata };
    });
  }

  remove(key: string): Promise<void> {
    return this.#calls.during(async () => {
      checkKey(key);
      await this.#delete(key);
    });
  }

  removeAll(prefix: string): Promise<number> {
    return this.#calls.during(async () => {
      checkPrefix(prefix);
      let removed = 0;
      let after: string | undefined;
      do {
        const { items = [], nextPageToken } = await this.#page(prefix, pageSizeMax, after);
        const names = items.map(({ name }) => name);
        const lane = async () => {
          for (let name = names.pop(); name !== undefined; name = names.pop()) {
            if (await this.#delete(name)) removed += 1;
          }
        };
        // Wait for all of them, also when one fails: this call started them.
        const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
        after = nextPageToken;
      } while (after !== undefined);
      return removed;
    });
  }

  list(prefix: string, { limit, after }: BlobListRequest): Promise<BlobPage> {
    return this.#calls.during(async () => {
      if (prefix !== '') checkPrefix(prefix);
      checkPageSize(limit);
      const { items = [], nextPageToken } = await this.#page(prefix, limit, after);
      return { keys: items.map(({ name }) => name).filter(isKey), next: nextPageToken ?? null };
    });
  }

  uriOf(key: string): string {
    return blobUri(this.#bucket, key);
  }

  /** By a list, which asks for no more rights than the service needs anyway. */
  ping(): Promise<void> {
    return this.#calls.during(async () => {
      await this.#page('', 1, undefined);
    });
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  /** `false` where there is an object. */
  async #create(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<boolean> {
    const { contentType, sha256, metadata } = attributes;
    const checksum = crc32c(bytes);
    const resource = {
      name: key,
      contentType,
      // Cloud Storage refuses content that does not match this checksum.
      crc32c: checksum,
      metadata: { ...metadata, [hashName]: sha256 },
    };
    const boundary = Buffer.from(this.#random.bytes(16)).toString('hex');
    const parts = [
      `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(resource)}\r\n`,
      `--${boundary}\r\ncontent-type: ${contentType}\r\n\r\n`,
      bytes,
      `\r\n--${boundary}--\r\n`,
    ];
    const answer = await this.#requests.send({
      method: 'POST',
      path: `/upload${this.#path()}?uploadType=multipart&ifGenerationMatch=0&fields=crc32c`,
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
      answerBytesMax: jsonBytesMax,
    });
    if (answer.status === 412) return false;
    const stored = json<{ readonly crc32c?: string }>(answer);
    if (stored.crc32c !== checksum) throw new BlobError('corrupt', 'Cloud Storage kept another content');
    return true;
  }

  async #resource(key: string): Promise<ObjectResource | null> {
    const answer = await this.#requests.send({
      method: 'GET',
      path: `${this.#path(key)}?fields=size,generation,contentType,metadata`,
      answerBytesMax: jsonBytesMax,
    });
    return answer.status === 404 ? absent(answer) : json<ObjectResource>(answer);
  }

  /** Whether there was one. */
  async #delete(name: string): Promise<boolean> {
    const answer = await this.#requests.send({
      method: 'DELETE',
      path: this.#path(name),
      answerBytesMax: jsonBytesMax,
    });
    if (answer.status === 404) return absent(answer) !== null;
    if (answer.status !== 204 && answer.status !== 200) throw refusal(answer);
    return true;
  }

  async #page(prefix: string, limit: number, after: string | undefined): Promise<ObjectList> {
    const query = new URLSearchParams({
      prefix,
      maxResults: String(limit),
      fields: 'items(name),nextPageToken',
      ...(after === undefined ? {} : { pageToken: after }),
    });
    return json<ObjectList>(
      await this.#requests.send({
        method: 'GET',
        path: `${this.#path()}?${query.toString()}`,
        answerBytesMax: jsonBytesMax,
      }),
    );
  }

  #path(key?: string): string {
    const objects = `/storage/v1/b/${this.#bucket}/o`;
    return key === undefined ? objects : `${objects}/${encodeURIComponent(key)}`;
  }
}

function json<R>(answer: StorageAnswer): R {
  if (answer.status !== 200) throw refusal(answer);
  try {
    return JSON.parse(Buffer.from(answer.body).toString()) as R;
  } catch (error) {
    throw new BlobError('unavailable', 'Cloud Storage answered no JSON', { cause: error });
  }
}

/** A missing bucket is answered with 404 as well, and is a fault rather than an absent object. */
function absent(answer: StorageAnswer): null {
  if (/bucket does not exist/i.test(Buffer.from(answer.body).toString('utf8', 0, 2000)))
    throw refusal(answer);
  return null;
}
