import { machine } from '../../functions/compose/machine.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { World } from '../../functions/kernel/world.ts';
import type { OlderRevision } from '../../functions/mcp/revisions.ts';
import { olderBody, olderFields } from './older-support.ts';
import { IDENTITY, type McpService } from './service-stage.ts';
import { messagesOf } from './support.ts';

/** Calls of tools for durable work by clients of older revisions, and a world in which their waits end as a test says. */

type Members = Readonly<Record<string, unknown>>;

export const BATCH = 'svc_records_start_batch_upsert_job_v1';
export const RUN = 'svc_execution_start_run_v1';
export const GET = 'svc_tasks_get_v1';
export const CANCEL = 'svc_tasks_cancel_v1';

/** A wait that is shorter than the longest, and than the timers that the service sets itself. */
export const waitSeconds = 19.75;

export const scope = { productId: 'papers', tenantId: 'acme' };

/** The call for a run of a handler outside: it stays queued until a worker takes it or a caller cancels it. */
export const waitingRun = (more: Members = {}, of: Members = scope): Members => ({
  handlerId: 'invoice.render',
  scope: of,
  waitSeconds,
  ...more,
});

export class Waits {
  readonly #held = new Set<() => void>();
  #changed = Promise.withResolvers<void>();

  /** The machine, whose waits of almost 20 seconds end with `end` alone. */
  readonly world: World = {
    ...machine,
    timers: {
      after: (delayMs, callback) => {
        // The service sets timers of 15 and of 20 seconds itself.
        if (delayMs <= 15_000 || delayMs >= 20_000) return machine.timers.after(delayMs, callback);
        this.#held.add(callback);
        this.#changed.resolve();
        this.#changed = Promise.withResolvers();
        return () => void this.#held.delete(callback);
      },
    },
  };

  get count(): number {
    return this.#held.size;
  }

  /** Settles when as many calls wait. */
  async reach(count: number): Promise<void> {
    while (this.#held.size < count) await this.#changed.promise;
  }

  /** The time of all calls that wait is over. */
  end(): void {
    for (const callback of new Set(this.#held)) callback();
  }
}

export interface Called {
  readonly response: InjectedResponse;
  readonly result: Members;
  /** The first text. */
  readonly text: string;
  readonly values: Members;
}

/** Calls a tool as the principal. Throws for an answer without a result. */
export async function callOlder(
  service: Pick<McpService, 'send'>,
  revision: OlderRevision,
  [principal, name, given]: readonly [principal: string, name: string, given: Members],
  more: { readonly signal?: AbortSignal; readonly draining?: AbortSignal; readonly _meta?: Members } = {},
): Promise<Called> {
  const { _meta, ...request } = more;
  const params = { name, arguments: given, ...(_meta === undefined ? {} : { _meta }) };
  const response = await service.send({
    body: olderBody('tools/call', params),
    headers: { ...olderFields(revision), [IDENTITY]: principal },
    ...request,
  });
  const { result, error } = (messagesOf(response).at(-1) ?? {}) as { result?: Members; error?: unknown };
  if (result === undefined) throw new Error(`${name} was answered with ${JSON.stringify(error)}`);
  const [{ text } = { text: '' }] = result['content'] as readonly { readonly text: string }[];
  return { response, result, text, values: (result['structuredContent'] ?? {}) as Members };
}

/** The id of the task that an answer names. */
export function taskIdOf({ text }: Called): string {
  const { task } = JSON.parse(text) as { readonly task?: { readonly taskId: string } };
  if (task === undefined) throw new Error(`the answer names no task: ${text}`);
  return task.taskId;
}
