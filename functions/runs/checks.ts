import { limits } from '../../contracts/generated/limits.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { checkedText, checkJson } from '../kernel/json-bytes.ts';
import { parseUtc } from '../kernel/timestamp.ts';
import type { Turns } from '../kernel/turns.ts';
import type { CheckedArtifact } from './artifact.ts';
import type { CheckpointWrite } from './checkpoint.ts';
import type { Report } from './rules/report.ts';
import type { Progress, RunTraceDraft } from './run.ts';
import { checkLine, checkLines, checkMap, checkName, optionalName } from './text-checks.ts';
import type { NewValue } from './values.ts';

/**
 * Checks of requests of workers and handlers, alike over the wire and in process. All throw `validation_failed` or
 * `limit_exceeded`.
 */

const DAY_MS = 86_400_000;

/** Checks a time. It may be past, and at most as far ahead as schedules may be. */
export function checkMoment(moment: Date | number | string, now: number, pointer = ''): number {
  const at = typeof moment === 'string' ? parseUtc(moment) : Number(moment);
  if (at === undefined || !Number.isFinite(at)) throw invalidMember(pointer, 'must be a moment');
  if (at - now > limits.executionScheduleDaysMax * DAY_MS) {
    throw invalidMember(
      pointer,
      `must be at most ${limits.executionScheduleDaysMax} days ahead`,
      'limit_exceeded',
    );
  }
  return Math.ceil(at);
}

export interface ReportInput extends Partial<Progress> {
  readonly failureClass?: string | null;
  readonly error?: string | null;
  readonly result?: Json | undefined;
  readonly statusDetails?: JsonObject | null;
}

const counters = ['requested', 'attempted', 'succeeded', 'failed'] as const;

/** Members that are absent or `null` keep their value. */
export function checkReport(
  input: ReportInput,
  { resultBytesMax, pointer = '' }: { readonly resultBytesMax?: number; readonly pointer?: string } = {},
): Omit<Report, 'result'> & { readonly result?: NewValue } {
  const report: { -readonly [M in keyof Omit<Report, 'result'>]: Omit<Report, 'result'>[M] } = {};
  for (const name of counters) {
    const count = input[name];
    if (count === undefined || count === null) continue;
    if (!Number.isSafeInteger(count) || count < 0)
      throw invalidMember(`${pointer}/${name}`, 'must be a count');
    report[name] = count;
  }
  const { progress, currentStep, failureClass, error, statusDetails } = input;
  if (progress !== undefined && progress !== null) {
    if (!(progress >= 0 && progress <= 1)) throw invalidMember(`${pointer}/progress`, 'must be from 0 to 1');
    report.progress = progress;
  }
  if (currentStep !== undefined && currentStep !== null) {
    report.currentStep = checkLines(currentStep, limits.executionDisplayLengthMax, `${pointer}/currentStep`);
  }
  const named = optionalName(failureClass, `${pointer}/failureClass`);
  if (named !== null) report.failureClass = named;
  if (error !== undefined && error !== null) {
    report.error = checkLines(error, limits.executionErrorLengthMax, `${pointer}/error`);
  }
  if (statusDetails !== undefined && statusDetails !== null) {
    checkJson(statusDetails, limits.executionStatusDetailsBytesMax, `${pointer}/statusDetails`);
    report.statusDetails = statusDetails;
  }
  const result = checkResult(input.result, resultBytesMax, pointer);
  return result === undefined ? report : { ...report, result };
}

/** `null` means no result: an earlier one stays. */
export function checkResult(
  result: Json | undefined,
  bytesMax: number = limits.executionResultBytesDefault,
  pointer = '',
): NewValue | undefined {
  if (result === undefined || result === null) return undefined;
  return { json: result, bytes: checkJson(result, bytesMax, `${pointer}/result`) };
}

/** Types of the runtime, so that workers cannot imitate its events: these prefixes, and these names. */
const RESERVED_PREFIXES = ['run.', 'lease.', 'wait.', 'retry.', 'svc.'];
const RESERVED_TYPES: ReadonlySet<string> = new Set([
  'artifact.written',
  'checkpoint.written',
  'external_event.raised',
  'timer.scheduled',
]);

/** Compares types as a reader sees them: in any case, without invisible characters, in compatible spelling. */
function isReserved(type: string): boolean {
  const seen = type
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase();
  return RESERVED_TYPES.has(seen) || RESERVED_PREFIXES.some((prefix) => seen.startsWith(prefix));
}

function checkType(given: string | null | undefined, pointer: string): string {
  const type = optionalName(given, pointer) ?? 'log';
  if (isReserved(type)) throw invalidMember(pointer, 'must not be a type of the runtime');
  return type;
}

interface TraceInput {
  readonly type?: string | null;
  readonly message?: string | null;
  readonly severity?: string | null;
  readonly details?: JsonObject | null;
}

export function checkTrace(
  event: TraceInput,
  pointer = '',
  detailsBytesMax: number = limits.executionTraceDetailsBytesMax,
): RunTraceDraft {
  const { message = null, details = null } = event;
  if (details !== null) checkJson(details, detailsBytesMax, `${pointer}/details`);
  return {
    type: checkType(event.type, `${pointer}/type`),
    severity: optionalName(event.severity, `${pointer}/severity`) ?? 'info',
    message:
      message === null
        ? null
        : checkLines(message, limits.executionTraceMessageLengthMax, `${pointer}/message`),
    details,
  };
}

/** The event that a checkpoint request adds. It is small: the trace in the record of the run is rewritten with each change. */
export function checkCheckpointEvent(event: TraceInput, pointer: string): RunTraceDraft {
  return checkTrace(event, pointer, limits.executionCheckpointEventDetailsBytesMax);
}

export interface ArtifactInput {
  readonly name: string;
  readonly kind?: string | null;
  readonly mediaType?: string | null;
  readonly text?: string | null;
  readonly content?: Json | undefined;
  readonly uri?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
}

/** Content may be large: others get their turn while it is judged. */
export async function checkArtifact(
  input: ArtifactInput,
  turns: Turns,
  pointer = '',
): Promise<CheckedArtifact> {
  const { mediaType = null, text = null, uri = null } = input;
  const content = input.content ?? undefined;
  if (text === null && content === undefined && uri === null) {
    throw invalidMember(pointer, 'must have text, content or uri');
  }
  if (text !== null && !text.isWellFormed())
    throw invalidMember(`${pointer}/text`, 'must be well-formed Unicode');
  const place = { pointer: `${pointer}/content`, turns };
  const contentText =
    content === undefined ? null : await checkedText(content, limits.executionArtifactBytesMax, place);
  return {
    name: checkName(input.name, `${pointer}/name`),
    kind: optionalName(input.kind, `${pointer}/kind`) ?? 'json',
    mediaType:
      mediaType === null
        ? null
        : checkLine(mediaType, limits.executionDisplayLengthMax, `${pointer}/mediaType`),
    text,
    content,
    contentText,
    uri: uri === null ? null : checkLine(uri, limits.executionArtifactUriLengthMax, `${pointer}/uri`),
    metadata: checkMap(input.metadata ?? {}, `${pointer}/metadata`),
  };
}

/** Clients resolve `.` and `..` in an address, so a checkpoint of such a key could not be read back by its path. */
function checkpointKey(given: string, pointer: string): string {
  const key = checkName(given, pointer);
  if (key === '.' || key === '..')
    throw invalidMember(pointer, 'must not be . or .., which no address can hold');
  return key;
}

export function checkCheckpoint(
  input: {
    readonly key: string;
    readonly content?: Json | undefined;
    readonly metadata?: Readonly<Record<string, string>> | null;
  },
  pointer = '',
): CheckpointWrite {
  const content = input.content ?? {};
  checkJson(content, limits.executionCheckpointBytesMax, `${pointer}/content`);
  return {
    key: checkpointKey(input.key, `${pointer}/key`),
    content,
    metadata: checkMap(input.metadata ?? {}, `${pointer}/metadata`),
  };
}

/** Largest payload by configuration and contract. */
export function payloadLimit(configured: number): number {
  return Math.min(configured, limits.executionPayloadBytesMax);
}
