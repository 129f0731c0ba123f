/** Bugs planted in the kit of steps, to prove that crashes and interleavings find such. Each is one that the code could well have. */
export interface Flaw {
  readonly about: string;
  readonly edits: readonly Edit[];
  /** The search that finds it: crashes of handlers, or of two branches. */
  readonly judge: 'handlers' | 'branches';
  /** The fault that the judge reports. */
  readonly shows: RegExp;
}

/** Replaces a text that stands exactly once in a file of `src/worker/steps`. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const FLAWS: Readonly<Record<string, Flaw>> = {
  'late-outcome': {
    about: 'a step of another branch may write between the outcome of a wait and its entry',
    edits: [
      {
        file: 'scheduler.ts',
        from: `    const isLeft = this.#remove(wait);\n`,
        to: `    const isLeft = this.#remove(wait);
    this.#isWaiting = false;
    for (const go of this.#held.splice(0)) go();
    await new Promise((resolve) => setImmediate(resolve));\n`,
      },
    ],
    judge: 'branches',
    shows: /waits for ever/,
  },
  'wait-beside-work': {
    about: 'a wait begins while a step works',
    edits: [
      {
        file: 'scheduler.ts',
        from: `if (this.#working > 0 || this.#isWaiting) return;`,
        to: `if (this.#isWaiting) return;`,
      },
    ],
    judge: 'branches',
    shows: /began while a step worked|began during/,
  },
  'step-in-a-wait': {
    about: 'a step begins while a wait is made',
    edits: [{ file: 'scheduler.ts', from: `while (this.#isWaiting) await`, to: `if (false) await` }],
    judge: 'branches',
    shows: /during a wait/,
  },
  'counted-by-end': {
    about: 'the calls of a name are counted when they end',
    edits: [
      {
        file: 'steps.ts',
        from: `    await writer.putValue({ ...entry, ...(n`,
        to: `    const ends = ((execution as unknown as { ends: Map<string, number> }).ends ??= new Map());
    const name = key.replace(/#\\d+$/, '');
    ends.set(name, (ends.get(name) ?? 0) + 1);
    const k = ends.get(name) === 1 ? name : \`\${name}#\${ends.get(name)}\`;
    await writer.putValue({ ...entry, k, ...(n`,
      },
    ],
    judge: 'branches',
    shows: /\[\["b",.*\],\["a",/,
  },
  'lost-segment': {
    about: 'of the segments that a write fills only the last one is written',
    edits: [
      {
        file: 'journal.ts',
        from: `if (version === writtenVersion) return [];`,
        to: `if (version === writtenVersion || number + 1 < this.#segments.length) return [];`,
      },
    ],
    judge: 'handlers',
    shows: /takes effect 2 times/,
  },
  'unread-segment': {
    about: 'only the first segment is read',
    edits: [{ file: 'writer.ts', from: `if (!mayContinue(content, number)) return`, to: `return` }],
    judge: 'handlers',
    shows: /takes effect 2 times/,
  },
  'unread-journal': {
    about: 'the second attempt does not read the journal',
    edits: [{ file: 'writer.ts', from: `run.attempt <= 1`, to: `run.attempt <= 2` }],
    judge: 'handlers',
    shows: /takes effect 2 times/,
  },
  'outcome-by-reference': {
    about: 'a large payload is written before its entry, which confirms the outcome',
    edits: [
      {
        file: 'scheduler.ts',
        from: `if (entry !== null) await this.#writer.put(entry);`,
        to: `if (entry !== null) await this.#writer.putValue(entry, entry.v ?? null);`,
      },
      {
        file: 'writer.ts',
        from: `return this.put({ ...entry, ref });`,
        to: `const { v: _, ...rest } = entry; return this.put({ ...rest, ref });`,
      },
    ],
    judge: 'handlers',
    shows: /waits for ever/,
  },
  'undone-again': {
    about: 'an undo that was done is done again',
    edits: [
      { file: 'steps.ts', from: `journal.find(undoKey, 'undo')`, to: `journal.find(undoKey + '?', 'undo')` },
    ],
    judge: 'handlers',
    shows: /effects again/,
  },
  'forgotten-tries': {
    about: 'a later execution begins to count the tries anew',
    edits: [{ file: 'steps.ts', from: `let tried = found?.n ?? 0;`, to: `let tried = 0;` }],
    judge: 'handlers',
    shows: /takes effect 2 times/,
  },
  'forgotten-ending': {
    about: 'the failure class of a run that undoes is not kept',
    edits: [{ file: 'execution.ts', from: `kept.code ?? ENDING_CLASS`, to: `ENDING_CLASS` }],
    judge: 'handlers',
    shows: /instead of .*no_car/,
  },
};
