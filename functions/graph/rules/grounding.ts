import type { Json } from '../../kernel/canonical-json.ts';
import { isGrounded } from './elements.ts';

type GroundingOf<Name extends string> = Readonly<
  Record<`${Name}GroundedCount` | `${Name}UngroundedCount` | `${Name}Coverage`, number>
>;

/** The number of elements of a list that have a source. */
export class Grounding {
  readonly #grounded: number;
  readonly #total: number;

  constructor(elements: readonly object[]) {
    const all = elements as readonly { readonly sourceSpans?: readonly Json[] | null }[];
    this.#grounded = all.filter(isGrounded).length;
    this.#total = all.length;
  }

  /** The members of the answer, which start with the name of the list. An empty list is covered. */
  answer<Name extends string>(name: Name): GroundingOf<Name> {
    const facts = {
      [`${name}GroundedCount`]: this.#grounded,
      [`${name}UngroundedCount`]: this.#total - this.#grounded,
      [`${name}Coverage`]: this.#total === 0 ? 1 : this.#grounded / this.#total,
    };
    return facts as GroundingOf<Name>;
  }
}
