import { limits } from '../../contracts/generated/limits.ts';
import type { ParameterSpec } from '../../contracts/operation.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';

/**
 * The path policy. The router checks and matches paths as the client sent them, because every decoder in between (a
 * framework, a URL class) resolves dots or turns `%2F` into a separator before the server can refuse it.
 */

export interface RequestTarget {
  /** The undecoded path. */
  readonly path: string;
  /** Undecoded, without the question mark; '' without a query. */
  readonly query: string;
}

// RFC 3986 section 3.3 allows these undecoded. Node hands other bytes on as Latin-1, which the client did not mean.
const rawSegment = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%]*$/;
// The separators of paths, of Windows paths and of URLs, and every control, format, private or unassigned character.
const forbiddenInStrict = /[/\\%?#\p{C}]/u;
const control = /\p{Cc}/u;

/** Splits the target of a request; only the origin form of RFC 9112 section 3.2.1 is accepted. */
export function splitTarget(target: string): RequestTarget {
  if (!target.startsWith('/'))
    throw invalidPath('The request target must be a path that begins with a slash.');
  // Node hands the target on as Latin-1, so a character is a byte.
  if (target.length > limits.requestTargetBytesMax) {
    const most = limits.requestTargetBytesMax;
    throw new ServiceError('headers_too_large', `The path and query take more than ${most} bytes.`);
  }
  const mark = target.indexOf('?');
  return mark < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** The undecoded segments of a path. The last one is '' where the path ends in a slash. */
export function splitPath(path: string): readonly string[] {
  const segments = path.slice(1).split('/');
  for (const [position, segment] of segments.entries()) {
    const last = position === segments.length - 1;
    if (segment === '.' || segment === '..' || (segment === '' && !last)) {
      throw invalidPath('The path holds an empty segment or a dot segment.');
    }
    if (!rawSegment.test(segment))
      throw invalidPath('The path holds a character that must be percent-encoded.');
  }
  return segments;
}

// RFC 3986 section 2.3: these never need an encoding, and section 2.1: the digits of one are upper-case.
const encodedPlain = /%(?:2D|2E|3\d|4[1-9A-F]|5[0-9A]|5F|6[1-9A-F]|7[0-9A]|7E)/;
const lowerCaseDigits = /%(?:[a-f]|[0-9A-F][a-f])/;

/** Which values a path parameter may have. */
export interface SegmentRule {
  /** The name of the parameter, for the refusal. */
  readonly name?: string | undefined;
  /** Refuses the separators `/ \ % ? #`, invisible characters and text outside Unicode's normal form C. */
  readonly strict: boolean;
  /** Takes every text of Unicode but dot segments: the name of stored content, which other rules judge. */
  readonly anyText?: boolean;
  /** `maxLength` of the contract. A parameter that allows more than the common length is bounded by it, in bytes too. */
  readonly lengthMax?: number | undefined;
}

/** The rule of a path parameter of the contract. */
export function segmentRule(spec: ParameterSpec | undefined): SegmentRule {
  return {
    name: spec?.name,
    strict: spec?.strict === true,
    anyText: spec?.anyText === true,
    lengthMax: spec?.maxLength,
  };
}

/**
 * The value of one parameter segment, decoded once as strict UTF-8. One value has one spelling, so that a proxy or a
 * log sees the served name. Only the sub-delimiters of RFC 3986, the colon and the at sign are accepted in both forms,
 * because encoders differ: `encodeURIComponent` keeps `!'()*` and encodes `$&+,;=:@`, others do the reverse.
 */
export function decodeSegment(raw: string, rule: SegmentRule = { strict: true }): string {
  let value: string;
  try {
    // Throws for a percent sign without two digits, for overlong and truncated UTF-8 and for encoded surrogates.
    value = decodeURIComponent(raw);
  } catch {
    throw invalidSegment(rule, 'is not percent-encoded UTF-8');
  }
  checkSegment(value, rule);
  if (encodedPlain.test(raw))
    throw invalidSegment(rule, 'encodes a letter, a digit or one of -._~, which are written as they are');
  if (lowerCaseDigits.test(raw))
    throw invalidSegment(rule, 'has a percent-encoding in lower-case digits: %C3%A9, not %c3%a9');
  return value;
}

/**
 * The value of a parameter for the rest of a path: its segments, decoded one by one, with slashes between them. An
 * encoded slash means the same as a plain one. No segment of the value may be empty or a dot segment.
 */
export function decodeRest(raw: readonly string[], rule: SegmentRule): string {
  const value = raw.map((segment) => decodeSegment(segment, rule)).join('/');
  checkRest(value, rule);
  return value;
}

/** The limits of one segment hold for each segment; `maxLength` of the contract bounds the whole. */
export function checkRest(value: string, rule: SegmentRule): void {
  for (const segment of value.split('/')) checkSegment(segment, rule);
}

/** Refuses a value that no path parameter may have. Callers inside the process give their values decoded. */
export function checkSegment(value: string, rule: SegmentRule): void {
  const { strict, anyText = false, lengthMax = 0 } = rule;
  const charactersMax = Math.max(limits.pathSegmentLengthMax, lengthMax);
  const bytesMax = Math.max(limits.identifierBytesMax, lengthMax);
  if (value === '' || value === '.' || value === '..')
    throw invalidSegment(rule, 'is empty or a dot segment');
  if (value.length > charactersMax) throw invalidSegment(rule, `is longer than ${charactersMax} characters`);
  if (Buffer.byteLength(value) > bytesMax)
    throw invalidSegment(rule, `is longer than ${bytesMax} bytes of UTF-8`);
  if (strict && forbiddenInStrict.test(value))
    throw invalidSegment(rule, 'holds a separator or a control character');
  if (!anyText && control.test(value)) throw invalidSegment(rule, 'holds a control character');
  if (!value.isWellFormed()) throw invalidSegment(rule, 'is not well-formed Unicode');
  if (!anyText && value !== value.trim()) throw invalidSegment(rule, 'begins or ends with white space');
  if (strict && value !== value.normalize('NFC'))
    throw invalidSegment(rule, 'is not in Unicode normal form C');
}

function invalidSegment({ name = '' }: SegmentRule, rule: string): ServiceError {
  return invalidMember(name && `/${name}`, rule, 'invalid_path_segment');
}

function invalidPath(detail: string): ServiceError {
  return new ServiceError('invalid_path_segment', detail);
}
