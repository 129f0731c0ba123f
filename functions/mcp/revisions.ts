import { type McpCall, versionOf } from './envelope.ts';
import { headerMismatch, invalidMeta, type McpError, missingVersion, unsupportedVersion } from './errors.ts';
import type { FieldValue, MirrorFields } from './header-fields.ts';

/** The revisions of the Model Context Protocol that the endpoint knows, and the one of a request. */

/** The revision without sessions: each request names it, in its header and in its body. */
export const REVISION = '2026-07-28';

/** The revisions whose clients begin with `initialize`, the newest first. */
const olderRevisions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

export type OlderRevision = (typeof olderRevisions)[number];
export type Revision = typeof REVISION | OlderRevision;

/** The newest first. */
export const revisions: readonly Revision[] = [REVISION, ...olderRevisions];

/** The revision of a request without the version header, which came with the next one. */
const UNNAMED = '2025-03-26';

const VERSION_HEADER = 'MCP-Protocol-Version';

/** Whether the revision has no structured content, titles and metadata of definitions: the text of a result is its answer. */
export function isEarly(revision: Revision): boolean {
  return revision === '2025-03-26';
}

export function isOlder(revision: Revision): revision is OlderRevision {
  return revision !== REVISION;
}

/**
 * The revision of a request: the one in its header, with which a version in its body must agree. Only a request of an older revision may
 * lack the header. `served` has the newest first. Throws for a revision that is not served.
 */
export function revisionOf(call: McpCall, fields: MirrorFields, served: readonly Revision[]): Revision {
  const field = fields.plain(VERSION_HEADER);
  if (field === 'malformed') throw versionMismatch(field);
  const header = field === 'absent' ? undefined : field.value;
  // Clients send a header only after `initialize`, whose parameters name the version.
  if (call.method === 'initialize' && header !== REVISION && !namesVersion(call))
    return agreedRevision(call, served);
  if (header === undefined) {
    if (namesVersion(call)) throw versionMismatch(field);
    if (!served.some(isOlder)) throw missingVersion(VERSION_HEADER, served);
    return servedRevision(UNNAMED, served);
  }
  const named = versionOf(call);
  if (named !== undefined && named !== header) throw versionMismatch(field);
  const revision = servedRevision(header, served, named !== undefined);
  if (named === undefined && revision === REVISION)
    throw invalidMeta('Invalid _meta: the protocol version is missing');
  return revision;
}

function versionMismatch(field: FieldValue): McpError {
  return headerMismatch(VERSION_HEADER, field, 'the revision that the body names');
}

/** Throws for a notification whose header names no served revision. Without the header it is of an older revision, if one is served. */
export function checkNotification(
  fields: MirrorFields,
  served: readonly Revision[],
): { readonly isNewest: boolean } {
  const field = fields.plain(VERSION_HEADER);
  if (field === 'malformed') throw versionMismatch(field);
  if (field === 'absent') return { isNewest: !served.some(isOlder) };
  return { isNewest: servedRevision(field.value, served) === REVISION };
}

/** The requested revision, else the newest that has an `initialize`. */
function agreedRevision({ params }: McpCall, served: readonly Revision[]): OlderRevision {
  const { protocolVersion } = params;
  const older = served.filter(isOlder);
  const agreed = older.find((each) => each === protocolVersion) ?? older[0];
  if (agreed !== undefined) return agreed;
  throw unsupportedVersion(typeof protocolVersion === 'string' ? protocolVersion : '', served);
}

/** `inBody`: the client knows revisions without a handshake, so it chooses among those where it can. */
function servedRevision(named: string, served: readonly Revision[], inBody = false): Revision {
  const revision = served.find((each) => each === named);
  if (revision !== undefined) return revision;
  const newest = served.filter((each) => !isOlder(each));
  throw unsupportedVersion(named, served, inBody && newest.length > 0 ? newest : served);
}

/** Whether `_meta` has a version, of any type. */
function namesVersion(call: McpCall): boolean {
  try {
    return versionOf(call) !== undefined;
  } catch {
    return true;
  }
}
