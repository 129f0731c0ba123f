import type { Caller } from '../../identity/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PageTokens } from '../../kernel/page-token.ts';

/** The name of a run or a job: the operation that reads it, and its id. */
export interface TaskPlace {
  /** The operation that reads the run or job. */
  readonly operationId: string;
  /** The value of the operation's only path parameter. */
  readonly id: string;
}

/**
 * An id of a task is the place, and a MAC over place and principal with the key that all instances share. Run ids are ordered and
 * can be guessed. A task id cannot be guessed, is valid for its principal only, and needs no state on the server.
 */
export class TaskIds {
  readonly #tokens: PageTokens;

  constructor(tokens: PageTokens) {
    this.#tokens = tokens;
  }

  async issue({ operationId, id }: TaskPlace, caller: Caller): Promise<string> {
    const text = `${operationId} ${id}`;
    const issued = await this.#tokens.issue(bindingOf(operationId, caller), text);
    if (issued === null) throw new Error('a task has no id');
    return issued;
  }

  /** The unverified place in an id; `null` for an id of another form. */
  placeOf(taskId: string): TaskPlace | null {
    const [text = ''] = taskId.split('.', 1);
    const [operationId = '', id = '', ...more] = Buffer.from(text, 'base64url').toString().split(' ');
    return operationId === '' || id === '' || more.length > 0 ? null : { operationId, id };
  }

  /** Whether the id was issued for the place and the caller. */
  async isOf(taskId: string, { operationId, id }: TaskPlace, caller: Caller): Promise<boolean> {
    try {
      return (await this.#tokens.read(bindingOf(operationId, caller), taskId)) === `${operationId} ${id}`;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'continuation_token_invalid') return false;
      throw error;
    }
  }
}

function bindingOf(operationId: string, { kind, principal }: Caller): object {
  return { mcp: 'task', operationId, kind, principal };
}
