/** The settings of the server on which the scenario runs. The limits that getUsage names must not depend on the disk of the machine. */
export const SCENARIO_SETTINGS = [
  'ExecutionRuntime:ExternalHandlers:0:HandlerId=refund.pay',
  'ExecutionRuntime:ExternalHandlers:0:MaxAttempts=3',
  'Quotas:DiskSharePercent=100',
] as const;

/** Members whose values differ in every run. Equal values keep an equal name. */
const chosen = new Set([
  'admissionId',
  'leaseToken',
  'continuationToken',
  'contentHash',
  'valueHash',
  'etag',
  'requestHash',
  'leaseTokenHash',
  'expectedHash',
  'actualHash',
]);

const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const generatedCorrelation = /\b[0-9a-f]{32}\b/g;
/** Ids of runs and of their parts, also inside the key of a lease. */
const orderedId = /\b[0-9]{20}\b/g;
/** In the text of a refusal. */
const foundHash = /(?<=hash is )sha256:[0-9a-f]{64}/g;
const transaction = /ctx_[0-9a-zA-Z]+/g;

interface Run {
  readonly tenant: string;
  /** The names of the database, in every place that shows one. */
  readonly provider: readonly string[];
}

/** A transcript without what differs from run to run: times, generated ids and tokens, the tenant, the database. */
export function normalised(transcript: unknown, { tenant, provider }: Run): unknown {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const nameOf = (kind: string, value: string): string => {
    const known = names.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(`${kind} ${value}`, `<${kind} ${count}>`);
    return `<${kind} ${count}>`;
  };
  const text = (value: string): string =>
    value
      .replaceAll(tenant, '<tenant>')
      .replace(time, '<time>')
      .replace(orderedId, (id) => nameOf('id', id))
      .replace(foundHash, '<hash>')
      .replace(generatedCorrelation, '<correlation>')
      .replace(transaction, (id) => nameOf('transaction', id));
  const clean = (value: unknown, name = ''): unknown => {
    // Each database names itself as the place of its runs.
    if (name === 'adapter' || name === 'adapterId' || name === 'runtimeKind') return '<adapter>';
    if (typeof value === 'string') {
      if ((name === 'provider' || name === 'store') && provider.includes(value)) return '<provider>';
      return chosen.has(name) ? nameOf(name, value) : text(value);
    }
    if (name === 'durationMs') return '<duration>';
    // Stored bytes are counted by upkeep: a run that takes longer sees more of its own.
    if (typeof value === 'number' && (name === 'used' || name === 'ofRuns')) return '<bytes>';
    // Not every deployment has a place for large artifacts.
    if (['artifactBytes', 'artifactDirectoryCount', 'artifactFileCount'].includes(name)) return '<count>';
    if (Array.isArray(value)) {
      // A snapshot lists its transactions by ids that differ in every run.
      const ordered = name === 'transactions' ? value.toSorted(byKey) : value;
      return ordered.map((each) => clean(each));
    }
    if (typeof value !== 'object' || value === null) return value;
    // Visit members in one order, so that names depend on the values and not on the order of a language.
    const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(members.map(([member, inner]) => [member, clean(inner, member)]));
  };
  return clean(transcript);
}

function byKey(a: { idempotencyKey: string }, b: { idempotencyKey: string }): number {
  return a.idempotencyKey < b.idempotencyKey ? -1 : 1;
}
