import type { Caller } from '../../identity/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PageTokens } from '../../kernel/page-token.ts';

/** A run or a job as the operation that reads it names it. */
export interface TaskPlace {
  /** The operation that reads it. */
  readonly operationId: string;
  /** The value of its only path parameter. */
  readonly id: string;
}

/**
 * Ids of tasks: the place with a MAC over it and the principal, by the key that all instances share. Run ids follow one
 * another and can be guessed; an id of a task cannot, holds for its principal alone, and needs no memory of the server.
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

  /** The place in an id, not proven yet; `null` for what has another form. */
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
