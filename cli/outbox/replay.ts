import { Command } from 'commander';
import { interruptible } from '../interruption.ts';
import { exitCodes, jsonText, type OutputForm, outputOption, printLine, ToolError, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { limitOption } from '../remote/paging.ts';
import { connect, type Remote } from '../remote.ts';
import { readEvents } from './list.ts';

interface ReplayOptions {
  readonly tenant: string;
  readonly deadLetters?: true;
  readonly topic?: string;
  readonly limit: number;
  readonly resetDeliveryCount?: true;
  readonly dryRun?: true;
  readonly output: OutputForm;
}

/** The result for one event; `error` is `null` if it will be delivered again. */
interface Replayed {
  readonly id: string;
  readonly error: string | null;
}

/** `svc outbox replay` */
export function replayCommand(inputs: Inputs): Command {
  return new Command('replay')
    .description('makes dead-lettered events of a tenant deliverable again')
    .argument('[eventIds...]', 'the events; or --dead-letters')
    .requiredOption('--tenant <tenantId>', 'the tenant')
    .option('--dead-letters', 'every dead letter of the tenant, up to --limit')
    .option('--topic <topic>', 'with --dead-letters: only those of this topic')
    .addOption(limitOption('dead letters'))
    .option('--reset-delivery-count', 'counts deliveries from zero again')
    .option('--dry-run', 'only lists the events')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Examples:
  svc outbox replay --tenant acme 'tx-1:000'
  svc outbox replay --tenant acme --dead-letters --topic claim.paid --dry-run`,
    )
    .action(async (eventIds: readonly string[], options: ReplayOptions, self: Command) => {
      checkNamed(eventIds, options);
      const remote = await connect(self, inputs);
      const done: Replayed[] = [];
      const after = () => `${done.filter(({ error }) => error === null).length} events were replayed`;
      const more = await replayAll(remote, eventIds, options, done).catch((error: unknown) => {
        if (error instanceof ToolError && error.exitCode > 128)
          throw new ToolError(`Interrupted: ${after()}`, error.exitCode, { cause: error });
        if (done.length > 0) warn(`${after()} before this failure.`);
        throw error;
      });
      print(done, options);
      if (more) warn(`More dead letters follow: --limit takes more than ${options.limit}.`);
      if (done.some(({ error }) => error !== null)) process.exitCode = exitCodes.failed;
    });
}

function checkNamed(eventIds: readonly string[], { deadLetters, topic }: ReplayOptions): void {
  if (eventIds.length > 0 === (deadLetters === true))
    throw new ToolError('Name the events, or give --dead-letters for all of them.', exitCodes.usage);
  if (topic !== undefined && deadLetters !== true)
    throw new ToolError('--topic needs --dead-letters.', exitCodes.usage);
}

/** Replays the events one by one and records each in `done`; resolves with whether more dead letters follow. */
function replayAll(
  remote: Remote,
  eventIds: readonly string[],
  { tenant, deadLetters, topic, limit, resetDeliveryCount, dryRun }: ReplayOptions,
  done: Replayed[],
): Promise<boolean> {
  return interruptible('', async (signal) => {
    const filter = { tenant, state: 'dead-letter', ...(topic === undefined ? {} : { topic }) };
    const found = deadLetters === true ? await readEvents(remote, filter, limit, signal) : null;
    for (const id of found?.items.map((event) => event.id) ?? eventIds) {
      const params = [`tenantId=${tenant}`, `eventId=${id}`];
      const body = { resetDeliveryCount: resetDeliveryCount === true };
      const call = { id: 'replayCanonicalOutbox', params, body, signal };
      const error = dryRun === true ? null : await callOperation(remote, call).then(() => null, refusalOf);
      done.push({ id, error });
    }
    return found?.more ?? false;
  });
}

/** The refusal of one event. A failure that concerns every event ends the command. */
function refusalOf(error: unknown): string {
  const isOfEvent =
    error instanceof ToolError &&
    [exitCodes.notFound, exitCodes.conflict, exitCodes.failed].some((code) => code === error.exitCode);
  if (!isOfEvent) throw error;
  return error.message;
}

function print(done: readonly Replayed[], { output, dryRun }: ReplayOptions): void {
  if (output === 'json') return printLine(jsonText(done));
  for (const { id, error } of done) {
    if (error === null) printLine(id);
    else warn(`${id}: ${error}`);
  }
  const replayed = done.filter(({ error }) => error === null).length;
  warn(dryRun === true ? `${replayed} events would be replayed.` : `${replayed} events were replayed.`);
}
