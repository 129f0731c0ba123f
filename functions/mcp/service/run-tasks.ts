import type { OperationEntry } from '../../../contracts/operation.ts';
import { createRouter, type Router } from '../../http/router.ts';
import type { Caller } from '../../identity/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import { parseJson } from '../../kernel/json-text.ts';
import { callerTo, type McpCaller } from '../caller.ts';
import type { McpContext, McpTask, McpTasks } from '../catalog.ts';
import { invalidParams } from '../errors.ts';
import type { Revision } from '../revisions.ts';
import { type CallAnswer, callAs, type ServiceOperations } from './call-operation.ts';
import { termsFor } from './mapped-result.ts';
import type { TaskIds, TaskPlace } from './task-ids.ts';
import { type TaskTerms, taskOf } from './task-view.ts';

/** A wait for the end of a run, of at most `waitMs`. */
interface EndWait {
  readonly runId: string;
  readonly waitMs: number;
  /** Receives the share of the work that is done, from 0 to 1. */
  readonly reached: (share: number) => void;
}

/** The operation of runs that are no jobs. */
const READS_RUN = 'getExecutionRun';

/** Waits in a place of the run's tenant. Where no place is free, it returns at once. */
export type AwaitEnd = (
  wait: EndWait,
  context: Pick<McpContext, 'signal' | 'draining'> & { readonly caller: Caller; readonly aside?: () => void },
) => Promise<void>;

/**
 * Tasks over runs and jobs. A 202 answer names the path of the run or job in `Location`, and the operations of that path read and
 * cancel it. So the service authorizes each request about a task like the same request over REST.
 */
export class RunTasks implements McpTasks {
  readonly #operations: ServiceOperations;
  readonly #ids: TaskIds;
  readonly #router: Router;
  readonly #terms: Omit<TaskTerms, 'now'>;
  readonly #awaitEnd: AwaitEnd;

  constructor(
    operations: ServiceOperations & { readonly awaitEnd: AwaitEnd },
    ids: TaskIds,
    terms: Omit<TaskTerms, 'now'>,
  ) {
    this.#awaitEnd = operations.awaitEnd;
    this.#operations = operations;
    this.#ids = ids;
    this.#router = createRouter(operations.operations);
    this.#terms = terms;
  }

  /** The operations that cancel a run or a job. */
  get cancelling(): readonly OperationEntry[] {
    return Object.values(this.#operations.operations).filter(({ id }) => /^cancel[A-Z]/.test(id));
  }

  /** The task of the run or job that an operation admitted for the caller. */
  async of(
    { answer, known, text }: CallAnswer,
    { caller, revision }: Pick<McpContext, 'caller' | 'revision'>,
  ): Promise<McpTask> {
    const location = answer.headers?.['Location'];
    if (location === undefined) throw new Error('an admission names no place');
    const { entry, params } = this.#router.match('GET', location);
    const [id = '', ...others] = Object.values(params);
    if (others.length > 0) throw new Error(`the place of ${entry.id} has several parameters`);
    // The operation that reads the task checks the id, and its authentication may give the caller another principal. If that refuses
    // the caller, use the known one: the run has started, so the call must answer.
    const reader = (await callerTo(caller, entry)) ?? known;
    const taskId = await this.#ids.issue({ operationId: entry.id, id }, reader);
    return this.#taskOf(taskId, { place: { operationId: entry.id, id }, path: location, text }, revision);
  }

  async get(taskId: string, caller: McpCaller, context: McpContext): Promise<McpTask | null> {
    const { place } = (await this.#ownPlace(taskId, caller)) ?? {};
    if (place === undefined) return null;
    const text = await this.#read(place, context);
    if (text === null) return null;
    return this.#taskOf(taskId, { place, path: this.#pathOf(place, 'GET').path, text }, context.revision);
  }

  /** The task at its end, or when the time is over. Work that begins after that time needs no wait. `null` for an unknown task. */
  async ended(taskId: string, waitMs: number, context: McpContext): Promise<McpTask | null> {
    const { caller, signal, draining, capacity, notifyProgress } = context;
    const { place, known } = (await this.#ownPlace(taskId, caller)) ?? {};
    // Only a caller that may read the task waits for it.
    const task = await this.get(taskId, caller, context);
    if (task?.status !== 'working' || place === undefined || known === undefined) return task;
    if (waitMs <= 0 || (task.beginsAt ?? 0) >= this.#operations.clock.now() + waitMs) return task;
    const reached = (share: number) => notifyProgress(share, 1);
    await this.#awaitEnd(
      { runId: place.id, waitMs, reached },
      {
        caller: known,
        signal,
        ...(draining === undefined ? {} : { draining }),
        ...(capacity === undefined ? {} : { aside: capacity.books.aside }),
      },
    );
    // Nothing reads the answer to a client that has left.
    return signal.aborted ? task : this.get(taskId, caller, context);
  }

  /** Whether the text has the form of a task id. It may be one of another caller. */
  hasForm(text: string): boolean {
    const place = this.#ids.placeOf(text);
    return place !== null && this.#entryOf(place) !== undefined;
  }

  /** A run never waits for an answer of the client, so all keys are unknown. */
  async update(
    taskId: string,
    _inputResponses: unknown,
    caller: McpCaller,
    context: McpContext,
  ): Promise<boolean> {
    return (await this.get(taskId, caller, context)) !== null;
  }

  async cancel(taskId: string, caller: McpCaller, context: McpContext): Promise<boolean> {
    const task = await this.get(taskId, caller, context);
    const { place } = (task && (await this.#ownPlace(taskId, caller))) ?? {};
    if (place === undefined) return false;
    if (task?.status !== 'working') return true;
    const { entry, input } = this.#pathOf(place, 'DELETE');
    try {
      await callAs(this.#operations, entry, input, context);
    } catch (error) {
      // A caller that may read the task but not cancel it gets a precise refusal.
      if (isRefusal(error)) throw invalidParams('Invalid params: the caller may not cancel this task');
      throw error;
    }
    return true;
  }

  /** The place of a task of the caller, and the caller as the operation that reads the task knows it. */
  async #ownPlace(
    taskId: string,
    caller: McpCaller,
  ): Promise<{ readonly place: TaskPlace; readonly known: Caller } | null> {
    const place = this.#ids.placeOf(taskId);
    const entry = place === null ? undefined : this.#entryOf(place);
    const known = entry && (await callerTo(caller, entry));
    if (place === null || !known) return null;
    return (await this.#ids.isOf(taskId, place, known)) ? { place, known } : null;
  }

  #entryOf({ operationId }: TaskPlace): OperationEntry | undefined {
    const { operations } = this.#operations;
    return Object.hasOwn(operations, operationId) ? operations[operationId] : undefined;
  }

  /** `null` if the run was removed, or if the caller may no longer read it. */
  async #read(place: TaskPlace, context: McpContext): Promise<string | null> {
    const { entry, input } = this.#pathOf(place, 'GET');
    try {
      return (await callAs(this.#operations, entry, input, context)).text;
    } catch (error) {
      if (isRefusal(error)) return null;
      throw error;
    }
  }

  /** The operation with this method at the path of the reading operation. */
  #pathOf(place: TaskPlace, method: 'GET' | 'DELETE') {
    const [route] = this.#entryOf(place)?.routes ?? [];
    const path = (route?.segments ?? []).map((segment) =>
      'literal' in segment ? segment.literal : encodeURIComponent(place.id),
    );
    const joined = `/${path.join('/')}`;
    const { entry, params } = this.#router.match(method, joined);
    return { entry, input: { params }, path: joined };
  }

  #taskOf(
    taskId: string,
    { place, path, text }: { readonly place: TaskPlace; readonly path: string; readonly text: string },
    revision: Revision,
  ): McpTask {
    const view = viewOf(text);
    const terms = { ...termsFor(this.#terms, revision), now: this.#operations.clock.now() };
    const task = taskOf(taskId, { view, text, path }, terms);
    return place.operationId === READS_RUN ? { ...task, runId: place.id } : task;
  }
}

/** `null` for a text that is no JSON object. */
function viewOf(text: string): JsonMembers | null {
  try {
    const view = parseJson(text);
    return isJsonObject(view) ? view : null;
  } catch {
    return null;
  }
}

const refusals: ReadonlySet<string> = new Set(['not_found', 'permission_denied', 'unauthenticated']);

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && refusals.has(error.code);
}
