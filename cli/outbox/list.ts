import { Command, Option } from 'commander';
import type { CanonicalOutboxEvent } from '../../contracts/generated/models.ts';
import { machine } from '../../functions/compose/machine.ts';
import { answerTable } from '../api/table.ts';
import { interruptible } from '../interruption.ts';
import { jsonText, type OutputForm, outputOption, outputWidth, printLine, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { itemsUpTo, limitOption } from '../remote/paging.ts';
import { connect, type Remote } from '../remote.ts';

const states = ['ready', 'leased', 'scheduled', 'delivered', 'dead-letter'];

/** The longest page that the service answers. */
const pageMax = 1_000;

export interface EventFilter {
  readonly tenant: string;
  readonly state?: string;
  readonly topic?: string;
}

interface ListOptions extends EventFilter {
  readonly limit: number;
  readonly output: OutputForm;
}

/** `svc outbox list` */
export function listCommand(inputs: Inputs): Command {
  return new Command('list')
    .description('lists outbox events of a tenant')
    .requiredOption('--tenant <tenantId>', 'the tenant')
    .addOption(new Option('--state <state>', 'only events in this state').choices(states))
    .option('--topic <topic>', 'only events of this topic')
    .addOption(limitOption('events'))
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  svc outbox list --tenant acme --state dead-letter')
    .action(async (options: ListOptions, self: Command) => {
      const remote = await connect(self, inputs);
      const { items, more } = await interruptible('nothing was listed', (signal) =>
        readEvents(remote, options, options.limit, signal),
      );
      printLine(options.output === 'json' ? jsonText(items) : listTable(items));
      if (more) warn(`More events follow: --limit lists more than ${options.limit}.`);
    });
}

function listTable(events: readonly CanonicalOutboxEvent[]): string {
  const now = machine.clock.now();
  return answerTable(
    events.map((event) => rowOf(event, now)),
    outputWidth(),
  );
}

interface EventPage {
  readonly items: readonly CanonicalOutboxEvent[];
  readonly continuationToken: string | null;
}

/** At most `limit` events that match the filter. */
export function readEvents(
  remote: Remote,
  { tenant, state, topic }: EventFilter,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly items: readonly CanonicalOutboxEvent[]; readonly more: boolean }> {
  return itemsUpTo(limit, async (continuationToken, wanted) => {
    const body = { state, topic, limit: Math.min(wanted, pageMax), continuationToken };
    const params = [`tenantId=${tenant}`];
    const { data } = await callOperation<EventPage>(remote, {
      id: 'queryCanonicalOutbox',
      params,
      body,
      signal,
      shape: {
        members: ['continuationToken'],
        list: { member: 'items', of: ['id', 'topic', 'deliveryCount'] },
      },
    });
    return { items: data.items, next: data.continuationToken };
  });
}

function rowOf(event: CanonicalOutboxEvent, now: number) {
  const { id, topic, key, deliveryCount, notBeforeUtc, leaseExpiresAtUtc, deliveredAtUtc, lastError } = event;
  const due = leaseExpiresAtUtc ?? notBeforeUtc;
  return {
    id,
    state: stateOf(event, now),
    topic,
    key,
    deliveries: deliveryCount,
    due,
    delivered: deliveredAtUtc,
    lastError,
  };
}

function stateOf(event: CanonicalOutboxEvent, now: number): string {
  if (event.deliveredAtUtc !== null) return 'delivered';
  if (event.deadLetteredAtUtc !== null) return 'dead-letter';
  const isLater = (moment: string | null) => moment !== null && Date.parse(moment) > now;
  if (isLater(event.leaseExpiresAtUtc)) return 'leased';
  return isLater(event.notBeforeUtc) ? 'scheduled' : 'ready';
}
