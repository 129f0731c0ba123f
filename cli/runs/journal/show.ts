import type { ExecutionRun } from '../../../contracts/generated/models.ts';
import type { JsonObject, JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { answerTable } from '../../api/table.ts';
import { interruptible } from '../../interruption.ts';
import { jsonText, outputWidth, printLine, warn } from '../../output.ts';
import type { Remote } from '../../remote.ts';
import { readJournal } from './entries.ts';
import { readPlainRun, readSegments, readValues } from './read.ts';
import { endingIn, journalRows } from './rows.ts';

interface ShowOptions {
  readonly asDocument: boolean;
  readonly values: boolean;
}

export async function showJournal(
  remote: Remote,
  runId: string,
  { asDocument, values }: ShowOptions,
): Promise<void> {
  await interruptible('nothing was changed', async (signal) => {
    const run = await readPlainRun(remote, runId, signal);
    const segments = await readSegments(remote, runId, signal);
    if (asDocument) {
      const keys = values ? refsIn(segments) : [];
      return printLine(jsonText(exported(run, segments, await readValues(remote, runId, keys, signal))));
    }
    if (segments.length === 0) return warn('The run has no journal of steps.');
    const journal = readJournal(segments);
    printLine(answerTable(journalRows(journal), outputWidth()));
    const ending = endingIn(journal);
    if (ending !== null) warn(`The run undoes its steps: ${ending}`);
  });
}

/** The document that `sdk/steps/journal.md` defines. */
function exported(
  { id, handlerId, payload }: ExecutionRun,
  segments: readonly JsonValue[],
  values: ReadonlyMap<string, JsonValue>,
): object {
  return {
    runId: id,
    handlerId,
    handlerVersion: versionIn(segments),
    payload: payload ?? null,
    segments,
    ...(values.size === 0 ? {} : { values: Object.fromEntries(values) }),
  };
}

// The document is also for journals that this release cannot read.

function versionIn(segments: readonly JsonValue[]): string | null {
  const version = membersOf(membersOf(entriesIn(segments)[0])['v'])['version'];
  return typeof version === 'string' ? version : null;
}

function refsIn(segments: readonly JsonValue[]): readonly string[] {
  const refs = entriesIn(segments).map((entry) => membersOf(entry)['ref']);
  return [...new Set(refs.filter((ref) => typeof ref === 'string'))];
}

function entriesIn(segments: readonly JsonValue[]): readonly JsonValue[] {
  return segments.flatMap((segment) => (Array.isArray(segment) ? (segment as readonly JsonValue[]) : []));
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
