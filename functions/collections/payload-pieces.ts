import { sha256 } from '../kernel/canonical-json.ts';
import { type RecordData, type RecordStore, StoreError } from '../store/port.ts';
import type { PayloadPlace } from './payload-place.ts';
import { pieceKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** Base64 makes a piece a third longer, and a Firestore document holds 1 MiB. */
const PIECE_BYTES = 384 * 1024;

/** Keeps payloads in records of the store, for deployments whose files do not outlive a process. */
export class PayloadPieces implements PayloadPlace {
  readonly #store: () => Promise<RecordStore>;

  constructor(store: () => Promise<RecordStore>) {
    this.#store = store;
  }

  async put(reference: string, bytes: Uint8Array): Promise<void> {
    const store = await this.#store();
    const count = Math.ceil(bytes.byteLength / PIECE_BYTES);
    // Write the first piece last: it holds the number of pieces, so a payload is whole or absent.
    for (let index = count - 1; index >= 0; index -= 1) {
      const key = pieceKey(reference, index);
      const piece = Buffer.from(bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES));
      const body = JSON.stringify(piece.toString('base64'));
      const put = { key, head: { count, hash: sha256(piece) }, body, listing: upkeepListing(key) };
      await store.transact(UPKEEP_SCOPE, { keys: [{ key, expectAbsent: true }] }, () => ({
        writes: [{ put }],
        result: null,
      }));
    }
  }

  async get(reference: string, bytesMax: number): Promise<Uint8Array | null> {
    let bytes: Buffer | null = null;
    let size = 0;
    for (let index = 0, count = 1; index < count; index += 1) {
      const record = await this.#piece(reference, index);
      if (record === undefined || size > bytesMax) return null;
      count = Number(record.head['count']);
      // Copy into one buffer: joining the pieces would take twice the memory.
      bytes ??= Buffer.allocUnsafeSlow(Math.min(count * PIECE_BYTES, bytesMax + PIECE_BYTES));
      const from = size;
      size += bytes.write(JSON.parse(record.body ?? '""') as string, size, 'base64');
      const { hash } = record.head;
      // Pieces of releases before 0.6.0 have no hash.
      if (typeof hash === 'string' && sha256(bytes.subarray(from, size)) !== hash) throw notAsPut();
    }
    return bytes?.subarray(0, size) ?? Buffer.alloc(0);
  }

  async remove(reference: string): Promise<void> {
    const store = await this.#store();
    // An incomplete payload lacks its first pieces, so look for pieces up to the largest possible number.
    const count = Number((await this.#piece(reference, 0))?.head['count'] ?? PIECES_MAX);
    for (let from = 0; from < count; from += PIECES_A_PAGE) {
      const length = Math.min(PIECES_A_PAGE, count - from);
      const keys = Array.from({ length }, (_, index) => ({ key: pieceKey(reference, from + index) }));
      await store.transact(UPKEEP_SCOPE, { keys, frees: true }, (found) => ({
        writes: keys.flatMap(({ key }) => (found.get(key) === undefined ? [] : [{ remove: key }])),
        result: null,
      }));
    }
  }

  async #piece(reference: string, index: number) {
    const keys = [{ key: pieceKey(reference, index), view: 'body' as const }];
    return (await (await this.#store()).query(UPKEEP_SCOPE, { by: 'keys', keys })).records[0];
  }
}

/** Returns the number of bytes of the piece. Throws `corrupt` if it differs from the written piece. */
export function verifyPiece({ head: { hash }, body }: RecordData): number {
  const piece = Buffer.from(JSON.parse(body ?? '""') as string, 'base64');
  if (typeof hash === 'string' && sha256(piece) !== hash) throw notAsPut();
  return piece.byteLength;
}

function notAsPut(): StoreError {
  return new StoreError('corrupt', 'a piece of a staged payload differs from the written one');
}

const PIECES_A_PAGE = 10;
/** The pieces of 64 MiB, which is twice the largest allowed setting. */
const PIECES_MAX = Math.ceil((64 * 1024 * 1024) / PIECE_BYTES);
