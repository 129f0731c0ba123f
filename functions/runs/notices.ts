import type { ProcessQueue } from '../queue/port.ts';
import type { RecordStore } from '../store/port.ts';

/** Notices between the servers of one database: a waiting worker at another server gets a ready run without its recheck. */

/** Notifies the other servers of a ready run of the handler, after its write. */
export function noticeSender(opened: () => RecordStore | undefined): (handlerId: string) => void {
  return (handlerId) => opened()?.notices?.send({ topic: handlerId, count: 1 });
}

/** Wakes the local queue for the ready runs of other servers, until the store is closed. */
export function receiveNotices(
  store: RecordStore | undefined,
  local: Pick<ProcessQueue, 'hint' | 'recheck'>,
): void {
  store?.notices?.listen({
    received: ({ topic, count }) => local.hint(topic, count),
    mayHaveMissed: () => local.recheck(),
  });
}
