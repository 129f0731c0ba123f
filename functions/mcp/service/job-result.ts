import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import type { ToolResult } from '../catalog.ts';
import { DATA, resultOf, sentLength } from './bounded-result.ts';
import { jobText, plainLine } from './job-text.ts';
import { lineJson } from './line-json.ts';
import { LIST_CHARACTERS_MAX, PLAIN_CHARACTERS_MAX, type TextContent } from './mapped-result.ts';
import { type ShortList, withShortLists } from './short-lists.ts';

/** The answer of the operation that reads a run or a job. */
export interface JobAnswer {
  /** `null` if the answer is no object. */
  readonly view: JsonMembers | null;
  readonly text: string;
  /** The path of the run or job over REST. */
  readonly path: string;
}

export interface JobTerms {
  readonly lengthMax: number;
  /** The members that may be null in a result. */
  readonly nullable: ReadonlySet<string>;
  readonly textContent: TextContent;
}

type ReadableJob = JobAnswer & { readonly view: JsonObject };

/** The tool that reads any run or job whole, in parts. */
const RUN_TOOL = 'svc_execution_get_run_v1';

/** Below this room for the values, shorter lists do not help: each keeps an item. */
const ROOM_MIN = 500;

/** The most characters of the reason of a failure, whose whole text is in the values. */
const REASON_MAX = 500;

/**
 * The job as a result. Requests about tasks have no offset, so the lists of a long job end early, and one that is still too long loses its
 * largest nullable members; the result names both and the path of the whole job. If that does not suffice, the result stays too long.
 */
export function jobResult(job: ReadableJob, terms: JobTerms): ToolResult {
  const { values, shortened, ...cut } = boundedJob(job, terms);
  const json = values === job.view ? job.text : JSON.stringify(values);
  const result = resultOf(values, textOf(values, json, terms));
  const isShort = shortened.length > 0;
  const isWhole = !isShort && cut.omitted.length === 0 && cut.tooLong === undefined;
  const lists = isShort ? { shortened } : {};
  const note: JsonObject = { ...cut, ...lists, wholeAt: job.path, length: job.text.length };
  const empty = emptyWords(job.view);
  const words = empty ?? failureWords(job.view);
  const further = [
    ...(words === null ? [] : [words]),
    ...(isWhole ? [] : [JSON.stringify(note), ...wholeWords(job.view)]),
  ];
  return {
    ...result,
    content: [...result.content, ...further.map((text) => ({ type: 'text', text }))],
    isError: empty !== null,
    ...(isWhole ? {} : { _meta: { ...DATA, 'svc.runtime/omitted': note } }),
  };
}

/** A short job is its own shortest text. */
function textOf(values: JsonObject, json: string, { textContent }: JobTerms): string {
  return textContent === 'full' || json.length < PLAIN_CHARACTERS_MAX ? json : jobText(values);
}

type BoundedJob = Shortened & Omitted;

interface Shortened {
  readonly values: JsonObject;
  /** The lists that end early. */
  readonly shortened: readonly JsonObject[];
}

interface Omitted {
  readonly values: JsonObject;
  /** The members that are null here alone. */
  readonly omitted: readonly string[];
  readonly tooLong?: true;
}

function boundedJob(job: ReadableJob, terms: JobTerms): BoundedJob {
  const { values, shortened } = shortenedJob(job, terms);
  const text = shortened.length === 0 ? job.text : JSON.stringify(values);
  return { shortened, ...withoutLargest(values, text, terms) };
}

/** The result of a run is a value of its handler, whose lists stay whole. */
function shortenedJob({ view, text }: ReadableJob, terms: JobTerms): Shortened {
  const most = Math.min(LIST_CHARACTERS_MAX, terms.lengthMax);
  const fits = (job: JsonObject, json: string): boolean =>
    json.length + JSON.stringify(textOf(job, json, terms)).length <= most;
  if (Object.hasOwn(view, 'handlerId') || (text.length <= most && fits(view, text)))
    return { values: view, shortened: [] };
  let values = view;
  const shortened = new Map<string, ShortList>();
  // The text takes a part of the room that depends on the values.
  for (let room = most; room >= ROOM_MIN; room = Math.floor(room * 0.85)) {
    const next = withShortLists(values, room);
    for (const each of next.shortened)
      shortened.set(each.list, { ...each, count: shortened.get(each.list)?.count ?? each.count });
    ({ values } = next);
    if (fits(values, JSON.stringify(values))) break;
  }
  return { values, shortened: [...shortened.values()].map((each) => ({ ...each })) };
}

function withoutLargest(view: JsonObject, text: string, { lengthMax, nullable }: JobTerms): Omitted {
  if (sentLength(text, lengthMax) <= lengthMax) return { values: view, omitted: [] };
  const lengths = Object.entries(view).map(([name, value]) => ({
    name,
    length: JSON.stringify(JSON.stringify(value)).length - 2,
  }));
  let length = lengths.reduce((sum, each) => sum + each.name.length + each.length + 6, 4);
  const omitted = new Set<string>();
  const candidates = lengths.filter((each) => nullable.has(each.name) && each.length > 'null'.length);
  for (const each of candidates.sort((one, other) => other.length - one.length)) {
    if (length <= lengthMax) break;
    omitted.add(each.name);
    length += 'null'.length - each.length;
  }
  const members = Object.entries(view).map(([name, value]) => [name, omitted.has(name) ? null : value]);
  const values = Object.fromEntries(members) as JsonObject;
  return { values, omitted: [...omitted], ...(length > lengthMax ? { tooLong: true } : {}) };
}

/** Words for a job that ended well although each item failed; `null` for any other. The counts of a run are those of its handler. */
function emptyWords({ status, succeeded, failed, handlerId }: JsonObject): string | null {
  const isEmpty = succeeded === 0 && typeof failed === 'number' && failed > 0 && handlerId === undefined;
  if (!isEmpty || status !== 'succeeded') return null;
  return `Nothing was written: of the items, 0 succeeded and ${failed} failed. The items of the result name the reasons.`;
}

/** How jobs end that do not succeed, by their status in small letters without marks. */
const failures: ReadonlyMap<string, string> = new Map([
  ['failed', 'Failed'],
  ['rejected', 'Rejected'],
  ['timedout', 'Timed out'],
]);

/** The end of a failed job and its reason, which the JSON has behind its many other members; `null` for any other job. */
function failureWords({ status, error }: JsonObject): string | null {
  const ended = typeof status === 'string' ? failures.get(status.toLowerCase().replace('_', '')) : undefined;
  if (ended === undefined) return null;
  const reason = typeof error === 'string' ? plainLine(error, REASON_MAX) : '';
  return reason === '' ? `${ended}.` : `${ended}: ${reason}`;
}

/** Words for a model, which has no REST: a job is a run, and the tool that reads runs goes on in a long answer. */
function wholeWords({ id }: JsonObject): readonly string[] {
  return typeof id === 'string' ? [`The whole job: ${RUN_TOOL} with "runId": ${lineJson(id)}.`] : [];
}
