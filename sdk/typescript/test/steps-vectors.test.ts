import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../src/index.ts';
import type { Entry } from '../src/worker/steps/entries.ts';
import { AmbiguousName } from '../src/worker/steps/faults.ts';
import { Journal } from '../src/worker/steps/journal.ts';
import {
  type Caller,
  nameOf,
  Occurrences,
  OpenOperations,
  type StepName,
} from '../src/worker/steps/names.ts';
import { jsonCopy } from '../src/worker/steps/values.ts';
import { definitionOf, type Program, stageOptionsOf } from './steps-program.ts';
import { RunStage } from './steps-stage.ts';

interface Vectors {
  readonly startsAt: number;
  readonly names: readonly { readonly given: StepName; readonly name: string }[];
  readonly refusedNames: readonly StepName[];
  readonly occurrences: readonly {
    readonly title: string;
    readonly do: readonly string[];
    readonly keys: readonly string[];
  }[];
  readonly branches: readonly {
    readonly title: string;
    readonly calls: readonly {
      readonly name: string;
      readonly branch: readonly (readonly [string, number, boolean])[];
    }[];
    readonly keys: readonly string[];
  }[];
  readonly texts: readonly { readonly value: JsonValue; readonly text: string }[];
  readonly placements: { readonly cases: readonly Placement[] };
  readonly refusedJournals: readonly { readonly title: string; readonly segments: readonly string[] }[];
  readonly programs: readonly Program[];
}

interface Placement {
  readonly title: string;
  readonly puts: readonly { readonly k: string; readonly fill?: number; readonly eventFill?: number }[];
  readonly segments: readonly { readonly keys: readonly string[]; readonly bytes: number }[];
}

const path = resolve(import.meta.dirname, '../../steps/vectors.json');
const vectors = JSON.parse(readFileSync(path, 'utf8')) as Vectors;
const head = { handler: 'h', version: '1' };

describe('a name', () => {
  test.each(vectors.names)('$given', ({ given, name }) => {
    expect(nameOf(given)).toBe(name);
  });

  test.each(vectors.refusedNames.map((given) => [given]))('is refused: %j', (given) => {
    expect(() => new Occurrences().next(nameOf(given), { chain: [], open: new OpenOperations() })).toThrow(
      TypeError,
    );
  });

  test('with a lone surrogate is refused', () => {
    expect(() => nameOf('a\ud800')).toThrow(TypeError);
  });

  test.each(vectors.occurrences)('is counted $title', ({ do: actions, keys }) => {
    const names = new Occurrences();
    const open = new OpenOperations();
    const seen: string[] = [];
    for (const action of actions) {
      if (action === 'begin') open.begun();
      else if (action === 'end') open.ended();
      else seen.push(keyOf(names, action.slice('call '.length), { chain: [], open }));
    }
    expect(seen).toEqual(keys);
  });

  test.each(vectors.branches)('is counted over branches: $title', ({ calls, keys }) => {
    const names = new Occurrences();
    const groups = new Map<string, object>();
    const groupOf = (name: string) => groups.get(name) ?? groups.set(name, {}).get(name) ?? {};
    const seen = calls.map(({ name, branch }) => {
      const chain = branch.map(([group, index, isPrompt]) => ({ group: groupOf(group), index, isPrompt }));
      return keyOf(names, name, { chain, open: new OpenOperations() });
    });
    expect(seen).toEqual(keys);
  });
});

function keyOf(names: Occurrences, name: string, caller: Caller): string {
  try {
    return names.next(name, caller);
  } catch (error) {
    if (error instanceof AmbiguousName) return 'ambiguous';
    throw error;
  }
}

test.each(vectors.texts)('the text of a value: $text', ({ value, text }) => {
  expect(JSON.stringify(jsonCopy(value))).toBe(text);
});

describe('an entry is placed', () => {
  test.each(vectors.placements.cases)('$title', ({ puts, segments }) => {
    const journal = Journal.of([], head);
    for (const put of puts) journal.put(entryOf(put));
    const texts = journal.changes().map(({ content }) => JSON.stringify(content));
    const found = texts.map((text) => ({
      keys: (JSON.parse(text) as Entry[]).map(({ k }) => k),
      bytes: Buffer.byteLength(text),
    }));
    expect(found).toEqual(segments);
    const read = Journal.of(
      texts.map((text) => JSON.parse(text) as JsonValue),
      head,
    );
    for (const { k } of puts)
      expect(read.find(k, journal.find(k, kindOf(k))?.t ?? 'step')).toEqual(journal.find(k, kindOf(k)));
  });

  const kindOf = (key: string) => (key === 'e' ? 'event' : 'step');
  const entryOf = ({ k, fill = 0, eventFill }: Placement['puts'][number]): Entry =>
    eventFill === undefined
      ? { k, t: 'step', v: 'x'.repeat(fill), ms: 0, at: vectors.startsAt }
      : { k, t: 'event', v: { payload: 'x'.repeat(eventFill) }, at: vectors.startsAt };
});

describe('a journal is refused', () => {
  test.each(vectors.refusedJournals)('$title', ({ segments }) => {
    const contents = segments.map((text) => JSON.parse(text) as JsonValue);
    expect(() => Journal.of(contents, head)).toThrow(
      expect.objectContaining({ failureClass: 'changed_code' }),
    );
  });
});

describe('the journal of a program', () => {
  test.each(vectors.programs)('$title', async (program) => {
    const stage = new RunStage(stageOptionsOf(program));
    const { error } = await stage.drive(definitionOf(program, stage));
    expect(error?.message).toBe(program.ends);
    expect(stage.segments).toEqual(program.segments);
  });
});
