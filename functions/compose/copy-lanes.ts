import type { OperationEntry } from '../../contracts/operation.ts';
import type { CallContext } from '../http/handler.ts';
import type { HandlerMap } from '../http/options.ts';
import type { Caller } from '../identity/caller.ts';
import { CopyGate } from '../kernel/copy-gate.ts';
import { recordAccessOf } from './identity.ts';
import { layer } from './layer.ts';

/** Calls that read or write all of a tenant, a space or a graph. Jobs have lanes of their own. */
const COPY = /^(?:export|restore|inspect|doctor)(?!.*Job$)/;

export interface CopyLanes {
  readonly gate: CopyGate;
  /** The space of a caller, whose operations name none. */
  readonly spaceOf: (caller: Caller) => string;
}

export const copyLanesOf = layer(({ settings }): CopyLanes => {
  const access = recordAccessOf(settings);
  return { gate: new CopyGate(), spaceOf: (caller) => access.spaceOf(caller, 'read') };
});

interface CopyInput {
  readonly params: { readonly tenantId?: string };
}

/** The handlers, with those of whole copies behind the gate of the process. */
export function inCopyLanes(
  handlers: HandlerMap,
  entries: readonly OperationEntry[],
  { gate, spaceOf }: CopyLanes,
): HandlerMap {
  const gated = { ...handlers };
  for (const { id } of entries) {
    const handler = handlers[id];
    if (handler === undefined || !COPY.test(id)) continue;
    const run = (input: never, context: CallContext) => {
      const { tenantId = spaceOf(context.caller) } = (input as CopyInput).params;
      return gate.run(tenantId, context.signal, () => handler(input, context));
    };
    gated[id] = Object.assign(run, handler);
  }
  return gated;
}
