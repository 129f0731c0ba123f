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

/** What is kept of a document: the digest of its highest revision, and then one word each. */
const LAST = DIGEST_WORDS;
const COUNT = LAST + 1;
/** Which of the revisions 1 to 32 were met, a bit each. */
const FIRST_BITS = COUNT + 1;
/** The line of the highest revision; 0 when the document itself was met. */
const LINE = FIRST_BITS + 1;
const DOCUMENT_WORDS = LINE + 1;

/** Of a receipt: the moment of its commit. */
const MOMENT_WORDS = 2;

const REVISIONS_A_WORD = 32;
const TRANSACTION_ID = /^ctx_([0-9a-f]{32})$/;

/**
 * Whether records that are right by themselves are right together, as those that commits made always are: every document is
 * the last of its revisions, which receipts hold once each and without a gap from 1, and every event is of a receipt. A
 * tenant that broke this would take no more writes: the next revision would exist already.
 *
 * Takes records in the order of their keys, in which receipts come before documents and these before events. A
 * contradiction is kept for the end: records that are out of order contradict each other too, and are to be reported as
 * that. Holds about 60 bytes a document and 35 a receipt, however large they are.
 */
export class CrossCheck {
  readonly #documents = new KeyTable(DOCUMENT_WORDS);
  readonly #receipts = new KeyTable(MOMENT_WORDS);
  /** Of documents with more than 32 revisions: which of the others were met, 32 to a number. */
  readonly #laterBits = new Map<number, Map<number, number>>();
  #first: SnapshotError | null = null;

  /** `id` is that of the record. */
  add(entry: SnapshotValue, id: string, line: number): void {
    if (this.#first !== null) return;
    try {
      placed({ line }, () => this.#add(entry, id, line));
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#first = error;
    }
  }

  /** To be called behind the last record. Throws the first contradiction, a `SnapshotError`, if there is one. */
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
    // A commit writes a document once, and the largest archive has room for fewer commits.
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

  /** Whether the revision was not met before; now it was. */
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
    // No revision was met twice, so as many as the highest one's number are all of them.
    const whole =
      entry !== undefined && revision === table.get(entry, LAST) && revision === table.get(entry, COUNT);
    same(whole, true, 'the last of its revisions, of which none is missing', '/value/revision');
    if (entry === undefined) return;
    const equal = digestWords(document).every((word, n) => word === table.get(entry, n));
    same(equal, true, 'as the receipt of its revision holds it', '/value');
    table.set(entry, LINE, 0);
  }

  /** An event may be gone while its receipt stays, but not the other way round. */
  #addEvent({ transactionId, createdAtUtc }: EventValue): void {
    const digits = transactionDigits(transactionId);
    const receipt = digits === undefined ? undefined : this.#receipts.find(digits);
    if (receipt === undefined) {
      throw invalidMember('/value/transactionId', 'must be that of a receipt');
    }
    const equal = momentWords(createdAtUtc).every((word, n) => word === this.#receipts.get(receipt, n));
    same(equal, true, 'the moment of its commit', '/value/createdAtUtc');
  }
}

/** The id of a transaction is these digits and a prefix; any other text is none. */
function transactionDigits(transactionId: string): string | undefined {
  return TRANSACTION_ID.exec(transactionId)?.[1];
}

function momentWords(utc: string): [number, number] {
  const milliseconds = Date.parse(utc);
  return [Math.floor(milliseconds / WORD_VALUES) >>> 0, milliseconds >>> 0];
}

/**
 * 128 bits of SHA-256. Checked documents have their members in one order, and data that was read from canonical text has
 * too, so equal documents have one text here without making the canonical one again.
 */
function digestWords(document: CanonicalDocument): number[] {
  const digest = hash('sha256', JSON.stringify(document), 'buffer');
  const words: number[] = [];
  for (let n = 0; n < DIGEST_WORDS; n++) words.push(digest.readUInt32LE(n * WORD_BYTES));
  return words;
}
