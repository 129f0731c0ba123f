import { parseJson } from '../../functions/kernel/json-text.ts';
import { exitCodes } from '../output.ts';
import type { Redact } from './heads.ts';
import { printable, shortened } from './printable.ts';

/** RFC 9457. */
export const problemType = 'application/problem+json';

/** The parts of an error answer that matter to a person. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly mediaType: string;
  readonly location?: string | undefined;
  readonly body: string;
}

/** The exit code for an answer of this status. */
export function exitCodeOf(status: number): number {
  if (status >= 200 && status < 300) return exitCodes.ok;
  if (status === 404) return exitCodes.notFound;
  if (status === 409 || status === 412) return exitCodes.conflict;
  if (status === 401 || status === 403) return exitCodes.auth;
  return status === 429 || status >= 500 ? exitCodes.unavailable : exitCodes.failed;
}

/** The refusal as lines for people. Text from the server cannot move the cursor and repeats no credential. */
export function refusalLines(refusal: Refusal, redact: Redact): string[] {
  const problem = problemIn(refusal);
  const lines = problem === undefined ? foreignLines(refusal) : problemLines(refusal.status, problem);
  return lines.map((line) => printable(redact(line)));
}

type Members = Readonly<Record<string, unknown>>;

function problemIn({ mediaType, body }: Refusal): Members | undefined {
  if (mediaType !== problemType) return undefined;
  try {
    const document: unknown = parseJson(body);
    return isObject(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

/** Members that the lines already show, or that repeat another member. */
const alreadyShown = new Set(
  'type title status detail instance code retryable correlationId errors retryAfterSeconds'.split(' '),
);

function problemLines(status: number, problem: Members): string[] {
  const { title, code, detail, errors, retryable, retryAfterSeconds, correlationId } = problem;
  const lines = [
    `${status} ${text(title) ?? 'Refused'}${text(code) === undefined ? '' : ` [${text(code)}]`}`,
  ];
  if (text(detail) !== undefined) lines.push(`  ${text(detail)}`);
  for (const error of Array.isArray(errors) ? errors.filter(isObject) : []) {
    lines.push(
      `  at ${text(error['pointer']) || '/'}: ${text(error['detail']) ?? text(error['keyword']) ?? ''}`,
    );
  }
  for (const [name, value] of Object.entries(problem)) {
    if (!alreadyShown.has(name) && value !== null)
      lines.push(`  ${name}: ${shortened(JSON.stringify(value), 500)}`);
  }
  if (typeof retryAfterSeconds === 'number') lines.push(`  try again after ${retryAfterSeconds} s`);
  else if (retryable === true) lines.push('  can be tried again');
  if (text(correlationId) !== undefined) lines.push(`  correlation id: ${text(correlationId)}`);
  return lines;
}

/** The lines for an answer of a proxy or of another kind of server. */
function foreignLines({ status, reason, mediaType, location, body }: Refusal): string[] {
  const lines = [`${status} ${reason}`.trimEnd()];
  if (status >= 300 && status < 400) {
    lines.push(`  The answer leads to ${location ?? 'another address'}, where nothing was sent.`);
    return lines;
  }
  lines.push(`  The answer is no problem document (${mediaType === '' ? 'of no type' : mediaType}).`);
  const start = shortened(body.replace(/\s+/g, ' ').trim(), 300);
  if (start !== '') lines.push(`  ${start}`);
  return lines;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
