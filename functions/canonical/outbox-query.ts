import { limits } from '../../contracts/generated/limits.ts';
import type { CanonicalOutboxEvent } from '../../contracts/generated/models.ts';
import type { Handler } from '../http/handler.ts';
import { optionalIdentifier } from '../kernel/identifiers.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { ListSelection, RecordStore, Scope } from '../store/port.ts';
import type { CanonicalDependencies } from './dependencies.ts';
import { EVENT_GROUP, EVENT_INDEX, readEvent, wireEvent } from './outbox-event.ts';
import { type OutboxState, settle, stateAt } from './outbox-rules.ts';
import { EVENTS, tenantScope } from './records.ts';

/**
 * How much one call may read for a full page: how often, how many records at a time, and how many characters of payload
 * it may gather. A page may then be short and still have a continuation.
 */
const ROUNDS_MAX = 50;
const ROUND_RECORDS_MAX = 100;
const PAGE_CHARACTERS_MAX = 8 * 1024 * 1024;

/** Lists outbox events, oldest first, then by event id; of one state or topic or of all. It inspects; it leases nothing. */
export function queryCanonicalOutbox(dependencies: CanonicalDependencies): Handler<'queryCanonicalOutbox'> {
  return async ({ params, body }, context) => {
    const state = body.state === 'dead-lettered' ? 'dead-letter' : (body.state ?? null);
    const topic = optionalIdentifier(body.topic, '/topic');
    const query = { operation: 'queryCanonicalOutbox', tenantId: params.tenantId, state, topic };
    const page = await collect(await dependencies.store(), tenantScope(params.tenantId), {
      state,
      topic,
      nowUtc: formatUtc(context.now),
      limit: body.limit ?? limits.queryLimitDefault,
      after: await dependencies.pageTokens.read(query, body.continuationToken),
    });
    const continuationToken = await dependencies.pageTokens.issue(query, page.next);
    return { status: 200, body: { items: page.items, continuationToken } };
  };
}

interface Question {
  readonly state: OutboxState | null;
  readonly topic: string | null;
  readonly nowUtc: string;
  readonly limit: number;
  readonly after: string | null;
}

/** Reads no more records than are still wanted at a time, so that the position after the last one is the page's end. */
async function collect(store: RecordStore, scope: Scope, question: Question) {
  const items: CanonicalOutboxEvent[] = [];
  let next = question.after;
  let characters = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const limit = Math.min(question.limit - items.length, ROUND_RECORDS_MAX);
    const page = await store.query(scope, selection(question, next, limit));
    for (const record of page.records) {
      const event = settle(readEvent(record), question.nowUtc);
      if (question.state !== null && stateAt(event, question.nowUtc) !== question.state) continue;
      items.push(wireEvent(scope.name, event, record.body ?? ''));
      characters += record.body?.length ?? 0;
    }
    next = page.next;
    if (next === null || items.length === question.limit || characters > PAGE_CHARACTERS_MAX) break;
  }
  return { items, next };
}

/** The narrowest set that holds all events of the state, whose members `stateAt` then decides on. */
function selection(question: Question, after: string | null, limit: number): ListSelection {
  const equal: Record<string, string> = {};
  if (question.state === 'delivered') equal[EVENT_INDEX.phase] = 'delivered';
  else if (question.state === 'dead-letter') equal[EVENT_INDEX.parked] = 'yes';
  else if (question.state !== null) equal[EVENT_INDEX.phase] = 'open';
  if (question.topic !== null) equal[EVENT_INDEX.topic] = question.topic;
  return {
    by: 'list',
    collection: EVENTS,
    group: EVENT_GROUP,
    equal,
    limit,
    ...(after === null ? {} : { after }),
  };
}
