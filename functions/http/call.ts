import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { Caller } from '../identity/caller.ts';
import type { Answer } from './answer.ts';
import type { Judge } from './body.ts';
import type { CallContext } from './handler.ts';
import { checkInput, RefusedByModel, type SentBody, type SentInput } from './operation-input.ts';
import type { CallOptions } from './options.ts';
import { RefusedParameters, readParameters, type SentQuery } from './parameters.ts';
import type { Validators } from './validators.ts';

/** One call of an operation. HTTP requests and callers inside the process make the same calls. */
interface OperationCall {
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  /** The decoded path parameters, which the path policy has accepted. */
  readonly params: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly query: SentQuery;
  /** Reads the body. Runs after the caller is authorized: the body of a stranger stays unread. */
  readonly read: (judge?: Judge) => Promise<SentBody | undefined>;
  readonly context: Omit<CallContext, 'caller' | 'now'>;
}

/** Authorizes the caller, validates the input, runs the handler. Throws every refusal. */
export type PerformCall = (call: OperationCall) => Promise<Answer>;

export function createPerformCall(options: CallOptions, validators: Validators): PerformCall {
  const { operations, handlers, authorizer, world } = options;
  for (const { id } of Object.values(operations))
    if (!Object.hasOwn(handlers, id)) throw new Error(`no handler serves ${id}`);
  return async ({ entry, route, params, query: sentQuery, caller, read, context }) => {
    authorizer.authorize(caller, entry, { params, now: world.clock.now() });
    let query: SentInput['query'];
    try {
      query = readParameters(route, entry, { path: params, query: sentQuery, header: context.header });
    } catch (error) {
      throw await withWords(error);
    }
    const handler = handlers[entry.id];
    if (!handler) throw new Error(`no handler serves ${entry.id}`);
    const { judgeBody } = handler;
    const body = await read(
      judgeBody && ((beginning) => judgeBody(beginning, { caller, now: world.clock.now() })),
    );
    const input = await checkedInput(
      { entry, route, params },
      { query, body },
      await validators.request(entry),
      context.header,
    );
    // The time after the body has arrived: a slow sender must not act in the past, on a lease that has expired since.
    return handler(input as never, { ...context, caller, now: world.clock.now() });
  };
}

/** The words of a refusal are loaded for it. */
async function withWords(error: unknown): Promise<unknown> {
  if (!(error instanceof RefusedParameters)) return error;
  return (await import('./parameter-refusal.ts')).refusalByParameters(error);
}

type CheckedArguments = Parameters<typeof checkInput>;

/** A refused body is checked again for all its faults. The code for that is loaded only then. */
async function checkedInput(...given: CheckedArguments): Promise<ReturnType<typeof checkInput>> {
  try {
    return checkInput(...given);
  } catch (error) {
    if (!(error instanceof RefusedByModel)) throw error;
    const { refusalBySchema } = await import('./schema-refusal.ts');
    throw await refusalBySchema(given[0].entry.requestSchema, error.faults, error.body);
  }
}
