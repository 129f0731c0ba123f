import type { OperationEntry } from '../../../contracts/operation.ts';
import { createRouter, type Router } from '../../http/router.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import { parseJson } from '../../kernel/json-text.ts';
import { callerTo, type McpCaller } from '../caller.ts';
import type { McpContext, McpTask, McpTasks } from '../catalog.ts';
import { invalidParams } from '../errors.ts';
import { type CallAnswer, callAs, type ServiceOperations } from './call-operation.ts';
import type { TaskIds, TaskPlace } from './task-ids.ts';
import { type TaskTerms, taskOf } from './task-view.ts';

/**
 * Tasks over runs and jobs. A 202 answer names the path of the run or job in `Location`, and the operations of that path read and
 * cancel it. So the service authorizes each request about a task like the same request over REST.
 */
export class RunTasks implements McpTasks {
  readonly #operations: ServiceOperations;
  readonly #ids: TaskIds;
  readonly #router: Router;
  readonly #terms: Omit<TaskTerms, 'now'>;

  constructor(operations: ServiceOperations, ids: TaskIds, terms: Omit<TaskTerms, 'now'>) {
    this.#operations = operations;
    this.#ids = ids;
    this.#router = createRouter(operations.operations);
    this.#terms = terms;
  }

  /** The task of the run or job that an operation admitted for the caller. */
  async of({ answer, known, text }: CallAnswer, caller: McpCaller): Promise<McpTask> {
    const location = answer.headers?.['Location'];
    if (location === undefined) throw new Error('an admission names no place');
    const { entry, params } = this.#router.match('GET', location);
    const [id = '', ...others] = Object.values(params);
    if (others.length > 0) throw new Error(`the place of ${entry.id} has several parameters`);
    // The operation that reads the task checks the id, and its authentication may give the caller another principal. If that refuses
    // the caller, use the known one: the run has started, so the call must answer.
    const reader = (await callerTo(caller, entry)) ?? known;
    const taskId = await this.#ids.issue({ operationId: entry.id, id }, reader);
    return this.#taskOf(taskId, location, text);
  }

  async get(taskId: string, caller: McpCaller, context: McpContext): Promise<McpTask | null> {
    const place = await this.#placeOf(taskId, caller);
    if (place === null) return null;
    const text = await this.#read(place, context);
    return text === null ? null : this.#taskOf(taskId, this.#pathOf(place, 'GET').path, text);
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
    const place = task && (await this.#placeOf(taskId, caller));
    if (place === null) return false;
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

  async #placeOf(taskId: string, caller: McpCaller): Promise<TaskPlace | null> {
    const place = this.#ids.placeOf(taskId);
    const entry = place === null ? undefined : this.#entryOf(place);
    const known = entry && (await callerTo(caller, entry));
    if (place === null || !known) return null;
    return (await this.#ids.isOf(taskId, place, known)) ? place : null;
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

  #taskOf(taskId: string, path: string, text: string): McpTask {
    const view = viewOf(text);
    const terms = { ...this.#terms, now: this.#operations.clock.now() };
    return taskOf(taskId, { view, text, path }, terms);
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
