import { hash } from 'node:crypto';
import type { CanonicalDocument } from '../../../../../contracts/generated/models.ts';
import { same } from '../../../../archives/checks.ts';
import { placed, SnapshotError } from '../../../../archives/snapshot-error.ts';
import { invalidMember } from '../../../../kernel/errors.ts';
import { documentKey } from '../../records.ts';
import { KeyTable } from './key-table.ts';
import type { EventValue, SnapshotValue } from './record-values.ts';
import type { ReceiptValue } from './values.ts';

const DIGEST_WORDS = 4;
const WORD_BYTES = 4;
const WORD_VALUES = 2 ** 32;

/** Layout of a document's entry: the digest of its highest revision, then one word for each of the following. */
const LAST = DIGEST_WORDS;
const COUNT = LAST + 1;
/** One bit for each of the revisions 1 to 32 that were read. */
const FIRST_BITS = COUNT + 1;
/** The line of the highest revision; 0 after the document itself was read. */
const LINE = FIRST_BITS + 1;
const DOCUMENT_WORDS = LINE + 1;

/** Words of a receipt's entry: the time of its commit. */
const MOMENT_WORDS = 2;

const REVISIONS_A_WORD = 32;
const TRANSACTION_ID = /^ctx_([0-9a-f]{32})$/;

/**
 * Checks valid records against each other. Each document must equal its highest revision; receipts must hold its revisions once each
 * and without a gap from 1; each event must belong to a receipt. A tenant that breaks this could not be written: the next revision
 * would exist already.
 *
 * Takes records in the order of their keys: receipts, then documents, then events. It reports a contradiction at the end only, because
 * records in a wrong order also contradict each other and need a more precise error. Holds about 60 bytes for each document and 35
 * for each receipt.
 */
export class CrossCheck {
  readonly #documents = new KeyTable(DOCUMENT_WORDS);
  readonly #receipts = new KeyTable(MOMENT_WORDS);
  /** For documents with more than 32 revisions: the further revisions that were read, 32 bits in each number. */
  readonly #laterBits = new Map<number, Map<number, number>>();
  #first: SnapshotError | null = null;

  /** `id` is the id of the record. */
  add(entry: SnapshotValue, id: string, line: number): void {
    if (this.#first !== null) return;
    try {
      placed({ line }, () => this.#add(entry, id, line));
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#first = error;
    }
  }

  /** Call this after the last record. Throws a `SnapshotError` for the first contradiction. */
  end(): void {
    if (this.#first !== null) throw this.#first;
    for (let entry = 0; entry < this.#documents.size; entry++) {
      const line = this.#documents.get(entry, LINE);
      if (line === 0) continue;
      const place = { line, pointer: '/value/result/documents' };
      throw new SnapshotError('incomplete', 'holds the last revision of a document that is missing', place);
    }
  }

  #add({ collection, value }: SnapshotValue, id: string, line: number): void {
    if (collection === 'commits') this.#addReceipt(value, line);
    if (collection === 'documents') this.#addDocument(value, id);
    if (collection === 'events') this.#addEvent(value);
  }

  #addReceipt({ transactionId, committedAtUtc, result }: ReceiptValue, line: number): void {
    const receipt = this.#receipts.take(transactionDigits(transactionId) ?? '');
    momentWords(committedAtUtc).forEach((word, n) => {
      this.#receipts.set(receipt, n, word);
    });
    result.documents.forEach((document, n) => {
      this.#addRevision(document, line, `/value/result/documents/${n}/revision`);
    });
  }

  #addRevision(document: CanonicalDocument, line: number, pointer: string): void {
    const { documentType, id, revision } = document;
    // A commit writes a document once, and even the largest archive holds fewer commits.
    if (revision >= WORD_VALUES) throw invalidMember(pointer, 'follows revisions that are missing');
    const table = this.#documents;
    const entry = table.take(documentKey(documentType, id).id);
    if (!this.#isFirst(entry, revision)) {
      throw invalidMember(pointer, 'is a revision that another receipt holds', 'duplicate_in_request');
    }
    table.set(entry, COUNT, table.get(entry, COUNT) + 1);
    if (revision < table.get(entry, LAST)) return;
    table.set(entry, LAST, revision);
    table.set(entry, LINE, line);
    digestWords(document).forEach((word, n) => {
      table.set(entry, n, word);
    });
  }

  /** Marks the revision as read. Returns whether it was not marked before. */
  #isFirst(entry: number, revision: number): boolean {
    const word = Math.floor((revision - 1) / REVISIONS_A_WORD);
    const bit = 1 << ((revision - 1) % REVISIONS_A_WORD);
    if (word === 0) {
      const bits = this.#documents.get(entry, FIRST_BITS);
      this.#documents.set(entry, FIRST_BITS, bits | bit);
      return (bits & bit) === 0;
    }
    const words = this.#laterBits.get(entry) ?? new Map<number, number>();
    const bits = words.get(word) ?? 0;
    this.#laterBits.set(entry, words.set(word, bits | bit));
    return (bits & bit) === 0;
  }

  #addDocument(document: CanonicalDocument, id: string): void {
    const table = this.#documents;
    const entry = table.find(id);
    const { revision } = document;
    // No revision occurred twice, so their number equals the highest one only if none is missing.
    const whole =
      entry !== undefined && revision === table.get(entry, LAST) && revision === table.get(entry, COUNT);
    same(whole, true, 'the last of its revisions, of which none is missing', '/value/revision');
    if (entry === undefined) return;
    const equal = digestWords(document).every((word, n) => word === table.get(entry, n));
    same(equal, true, 'as the receipt of its revision holds it', '/value');
    table.set(entry, LINE, 0);
  }

  /** Retention may remove an event and keep its receipt, but never the reverse. */
  #addEvent({ transactionId, createdAtUtc }: EventValue): void {
    const digits = transactionDigits(transactionId);
    const receipt = digits === undefined ? undefined : this.#receipts.find(digits);
    if (receipt === undefined) {
      throw invalidMember('/value/transactionId', 'must be the transactionId of a receipt');
    }
    const equal = momentWords(createdAtUtc).every((word, n) => word === this.#receipts.get(receipt, n));
    same(equal, true, 'the moment of its commit', '/value/createdAtUtc');
  }
}

/** The digits after the prefix of a transaction id; `undefined` for any other text. */
function transactionDigits(transactionId: string): string | undefined {
  return TRANSACTION_ID.exec(transactionId)?.[1];
}

function momentWords(utc: string): [number, number] {
  const milliseconds = Date.parse(utc);
  return [Math.floor(milliseconds / WORD_VALUES) >>> 0, milliseconds >>> 0];
}

/**
 * 128 bits of SHA-256. Checked documents, and data from canonical text, have their members in a fixed order, so equal documents have
 * equal text here without a new canonical text.
 */
function digestWords(document: CanonicalDocument): number[] {
  const digest = hash('sha256', JSON.stringify(document), 'buffer');
  const words: number[] = [];
  for (let n = 0; n < DIGEST_WORDS; n++) words.push(digest.readUInt32LE(n * WORD_BYTES));
  return words;
}
