import { limits } from '../../../../contracts/generated/limits.ts';
import type { Handler } from '../../../http/handler.ts';
import { cutHeaders } from '../../../http/list-headers.ts';
import { optionalIdentifier } from '../../../kernel/identifiers.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import type { ListSelection } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { gather } from '../record-pages.ts';
import { EVENTS, tenantScope } from '../records.ts';
import { EVENT_GROUP, EVENT_INDEX, readEvent, wireEvent } from './outbox-event.ts';
import { type OutboxState, settle, stateAt } from './outbox-rules.ts';

/** Lists outbox events by time, then event id: all of them, or those of one state or topic. Leases none. */
export function queryCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'queryCanonicalOutbox'> {
  return async ({ params: { tenantId }, body }, { now, hold }) => {
    const state = body.state === 'dead-lettered' ? 'dead-letter' : (body.state ?? null);
    const topic = optionalIdentifier(body.topic, '/topic');
    const query = { operation: 'queryCanonicalOutbox', tenantId, state, topic };
    const from = await dependencies.pageTokens.readPosition(query, body.continuationToken);
    const store = await dependencies.store();
    const nowUtc = formatUtc(now);
    const selection = selectionOf(state, topic, body.limit ?? limits.queryLimitDefault);
    const page = await gather(store, tenantScope(tenantId), selection, from, (record) => {
      const event = settle(readEvent(record), nowUtc);
      if (state !== null && stateAt(event, nowUtc) !== state) return null;
      if (dependencies.retention?.isGone(event, now) === true) return null;
      hold?.(record.body?.length ?? 0);
      return wireEvent(tenantId, event, record.body ?? '');
    });
    const { after = null, generation = null } = page.next ?? {};
    const continuationToken = await dependencies.pageTokens.issue(query, after, generation);
    const headers = cutHeaders(continuationToken !== null && page.items.length < selection.limit);
    return { status: 200, body: { items: [...page.items], continuationToken }, headers };
  };
}

/** The smallest index selection that contains all events of the state. `stateAt` then decides about each. */
function selectionOf(
  state: OutboxState | null,
  topic: string | null,
  limit: number,
): Omit<ListSelection, 'after'> {
  const equal: Record<string, string> = {};
  if (state === 'delivered') equal[EVENT_INDEX.phase] = 'delivered';
  else if (state === 'dead-letter') equal[EVENT_INDEX.parked] = 'yes';
  else if (state !== null) equal[EVENT_INDEX.phase] = 'open';
  if (topic !== null) equal[EVENT_INDEX.topic] = topic;
  return { by: 'list', collection: EVENTS, group: EVENT_GROUP, equal, limit };
}
