import { type Command, Option } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { exitCodes, ToolError } from '../output.ts';
import { RUN } from '../remote/answer-shape.ts';
import { callOperation } from '../remote/operations.ts';
import { itemsUpTo } from '../remote/paging.ts';
import type { Remote } from '../remote.ts';
import { durationMs } from './duration.ts';

export const activeStatuses = ['queued', 'waiting', 'running'];
const endedStatuses = ['succeeded', 'failed', 'cancelled', 'rejected', 'timed_out'];

/** The longest page that the service answers. */
const pageMax = 200;

/** The options that select runs, as they were given. */
export interface RunFilter {
  readonly status?: string;
  readonly handler?: string;
  readonly handlerVersion?: string;
  readonly plugin?: string;
  readonly correlation?: string;
  readonly after?: string;
  readonly before?: string;
  readonly olderThan?: string;
  readonly tag: readonly string[];
}

/** Adds the options to a command. */
export function withFilter(command: Command): Command {
  return command
    .addOption(
      new Option('--status <status>', 'only runs of this status').choices([
        ...activeStatuses,
        ...endedStatuses,
      ]),
    )
    .option('--handler <id>', 'only runs of this handler')
    .option('--handler-version <version>', 'only runs whose last lease named this version')
    .option('--plugin <id>', 'only runs of this plugin')
    .option('--correlation <id>', 'only runs of this correlation id')
    .option('--after <time>', 'only runs created at this moment or later, such as 2026-01-31T00:00:00Z')
    .option('--before <time>', 'only runs created at this moment or earlier')
    .addOption(
      new Option('--older-than <duration>', 'only runs created longer ago: 90s, 15m, 12h, 7d').argParser(
        (text: string) => {
          durationMs(text);
          return text;
        },
      ),
    )
    .addOption(
      new Option('--tag <name=value>', 'only runs with this tag; again for each')
        .default([], 'none')
        .argParser((text: string, before: string[]) => [...before, text]),
    );
}

/** The given options alone, in one order: two equal filters have equal JSON. */
export function filterGiven(filter: RunFilter): Readonly<Record<string, string | readonly string[]>> {
  const { status, handler, handlerVersion, plugin, correlation, after, before, olderThan, tag } = filter;
  const given = Object.entries({
    status,
    handler,
    handlerVersion,
    plugin,
    correlation,
    after,
    before,
    olderThan,
  });
  return {
    ...Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    ...(tag.length === 0 ? {} : { tag }),
  };
}

/** The runs that match, newest first: at most `limit`, and whether more follow. */
export function readRuns(
  remote: Remote,
  filter: RunFilter,
  { limit, now, signal }: { readonly limit: number; readonly now: number; readonly signal: AbortSignal },
): Promise<{ readonly items: readonly ExecutionRun[]; readonly more: boolean }> {
  const own = filterParams(filter, now);
  return itemsUpTo(limit, async (query, wanted) => {
    const params = [...own, `limit=${Math.min(wanted, pageMax)}`];
    const shape = { list: { of: RUN.members } };
    const call = { id: 'listExecutionRuns', params, query, signal, shape };
    const { data, next } = await callOperation<readonly ExecutionRun[]>(remote, call);
    return { items: data, next };
  });
}

function filterParams(filter: RunFilter, now: number): string[] {
  const { status, handler, handlerVersion, plugin, correlation, after, before, olderThan, tag } = filter;
  if (before !== undefined && olderThan !== undefined)
    throw new ToolError('--before and --older-than are two forms of the same filter.', exitCodes.usage);
  const until = olderThan === undefined ? before : new Date(now - durationMs(olderThan)).toISOString();
  const given = Object.entries({
    status,
    handlerId: handler,
    handlerVersion,
    pluginId: plugin,
    correlationId: correlation,
    createdAfterUtc: after,
    createdBeforeUtc: until,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...given, ...tag.map((each) => `tag.${each}`)];
}
