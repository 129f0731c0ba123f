import { AsyncLocalStorage } from 'node:async_hooks';
import { type Caller, OpenOperations } from './names.ts';

/** A parallel branch of a handler. Each call finds its branch, however deep it is. */
export class Branch {
  /** Its operations that are open. */
  readonly open = new OpenOperations();
  isPrompt = true;
  readonly #above: readonly Branch[];
  readonly #group: object;
  readonly #index: number;
  /** Steps of the branch that work end with its signal. */
  readonly #ended = new AbortController();

  /** `group`: the same object for the branches side by side. */
  constructor(parent: Branch | null = null, group: object = {}, index = 0) {
    this.#above = parent === null ? [] : [...parent.#above, parent];
    this.#group = group;
    this.#index = index;
    parent?.signal.addEventListener('abort', () => this.end(parent.signal.reason), {
      signal: this.#ended.signal,
    });
    if (parent?.signal.aborted === true) this.end(parent.signal.reason);
  }

  /** Where a call stands that is made now. */
  get caller(): Caller {
    // The handler itself is in no branch.
    const chain = [...this.#above, this].slice(1);
    return {
      chain: chain.map((branch) => ({
        group: branch.#group,
        index: branch.#index,
        isPrompt: branch.isPrompt,
      })),
      open: this.open,
    };
  }

  /** Aborted when another branch has won the race, or the handler must stop. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  end(reason: unknown = new BranchEnded()): void {
    this.#ended.abort(reason);
  }
}

/** Another branch of a race has won. The operations of this branch end with it. */
class BranchEnded extends Error {
  override readonly name = 'BranchEnded';

  constructor() {
    super('Another branch of the race has won.');
  }
}

interface Place {
  readonly branch: Branch;
  /** The key of the step whose work this is; `null` outside of steps. */
  readonly step: string | null;
}

const places = new AsyncLocalStorage<Place>();

export function inBranch(branch: Branch, work: () => unknown): Promise<unknown> {
  const answer = places.run({ branch, step: null }, async () => work());
  branch.isPrompt = false;
  return answer;
}

export function inStep<T>(branch: Branch, step: string, work: () => T): T {
  return places.run({ branch, step }, work);
}

/** The branch of the caller. Throws within the work of a step: what it calls would not be found again. */
export function branchHere(root: Branch): Branch {
  const place = places.getStore();
  if (place === undefined) return root;
  if (place.step !== null)
    throw new TypeError(`The work of the step "${place.step}" must not call another operation.`);
  return place.branch;
}
