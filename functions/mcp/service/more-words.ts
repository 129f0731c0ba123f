import type { JsonObject } from '../../kernel/canonical-json.ts';
import { ExpectedAbsence, ServiceError } from '../../kernel/errors.ts';
import { isJsonList } from '../../kernel/json-kinds.ts';

/** Words that a model needs beside a refusal: over REST they would stand in the documentation. */

/** The list of the names that the refusal is about. */
const LISTING = { operationId: 'listCollections', tool: 'svc_collections_list_v1' } as const;

const missingCollection = /^Collection '(.+)' does not exist\.$/s;

/**
 * A refusal of a missing collection says which of several it is, and which tool has the names. The name itself may be one of the
 * arguments, so it is replaced later. `listsNames` answers whether the caller sees that tool.
 */
export async function withCollectionWords(
  refusal: unknown,
  given: JsonObject,
  listsNames: (operationId: string) => Promise<boolean>,
): Promise<unknown> {
  if (!(refusal instanceof ServiceError) || refusal.code !== 'collection_not_found') return refusal;
  const [, name] = missingCollection.exec(refusal.message) ?? [];
  if (name === undefined) return refusal;
  const { collections } = given;
  const at = isJsonList(collections)
    ? collections.findIndex((each) => typeof each === 'string' && each.trim() === name)
    : -1;
  const place = at === -1 ? [] : [`It is the one at /collections/${at}.`];
  const names = (await listsNames(LISTING.operationId)) ? [`${LISTING.tool} has the names.`] : [];
  return withWords(refusal, [...place, ...names]);
}

/** The refusal of an unknown run says where a task id belongs, if the caller has given one in its place. */
export function withTaskWords(
  refusal: unknown,
  { runId }: JsonObject,
  hasFormOfTask: (text: string) => boolean,
): unknown {
  if (!(refusal instanceof ServiceError) || refusal.code !== 'not_found') return refusal;
  if (typeof runId !== 'string' || !hasFormOfTask(runId)) return refusal;
  return withWords(refusal, ['The runId is a taskId: svc_tasks_get_v1 takes it, or the method tasks/get.']);
}

/** The refusal of the same kind with further sentences. */
function withWords(refusal: ServiceError, sentences: readonly string[]): ServiceError {
  const { code, message, extensions } = refusal;
  if (sentences.length === 0) return refusal;
  const words = [message.endsWith('.') ? message : `${message}.`, ...sentences].join(' ');
  if (refusal instanceof ExpectedAbsence) return new ExpectedAbsence(words, code);
  return new ServiceError(code, words, extensions, { cause: refusal });
}
