import type { Firestore } from '@google-cloud/firestore';
import { wrapRpcs } from './rpc-counter.ts';

/** The units that Firestore bills, and the number of calls. */
export interface Bill {
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  readonly calls: number;
}

interface Message {
  readonly documents?: readonly unknown[];
  readonly writes?: readonly { readonly delete?: string | null }[];
}

/**
 * Counts as the price list does: a requested document is a read, whether or not it exists; a query is a read for each
 * document in its result, and one for an empty result; a count is a read for up to a thousand index entries; each
 * written document is a write.
 */
export function countBill(client: Firestore): { take(): Bill } {
  let bill = { reads: 0, writes: 0, deletes: 0, calls: 0 };
  wrapRpcs(client, async (method, send, request) => {
    const { documents = [], writes = [] } = (request ?? {}) as Message;
    const taken = bill;
    taken.calls += 1;
    taken.reads += method === 'runAggregationQuery' ? 1 : documents.length;
    for (const write of writes)
      taken[typeof write.delete === 'string' && write.delete !== '' ? 'deletes' : 'writes'] += 1;
    const answer = await send();
    if (method === 'runQuery')
      countDocuments(answer, (documentsGiven) => {
        taken.reads += Math.max(1, documentsGiven);
      });
    return answer;
  });
  return {
    take() {
      const taken = bill;
      bill = { reads: 0, writes: 0, deletes: 0, calls: 0 };
      return taken;
    },
  };
}

interface Stream {
  emit(event: string, ...rest: unknown[]): boolean;
}

/** Observes the stream of answers that the client reads; reports at its end how many held a document. */
function countDocuments(answer: unknown, ended: (count: number) => void): void {
  const stream = answer as Stream;
  const emit = stream.emit.bind(stream);
  let count = 0;
  stream.emit = (event, ...rest) => {
    if (event === 'data' && (rest[0] as { document?: unknown }).document) count += 1;
    if (event === 'end') ended(count);
    return emit(event, ...rest);
  };
}
