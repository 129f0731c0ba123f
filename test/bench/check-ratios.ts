import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { round } from './load.ts';

const STORED = join(import.meta.dirname, 'stored-ratios.json');

/** A ratio that a benchmark is expected to give, beside a limit or a release that is measured in the same run. */
export interface StoredRatio {
  readonly bench: string;
  /** Members that lead to the figure in the line of the benchmark. */
  readonly at: readonly string[];
  readonly ratio: number;
  /** `less`: a cost, such as times. `more`: a rate. */
  readonly better: 'less' | 'more';
}

/** How far a measured ratio may lie on the worse side of the stored one. */
export const BEYOND_MOST = 1.25;

export interface CheckedRatio extends StoredRatio {
  /** `null` where the line has no such figure. */
  readonly measured: number | null;
  /** How often worse than stored: above 1 is worse. */
  readonly beyond: number | null;
  readonly holds: boolean;
}

/** Compares the line of a benchmark with the ratios that are stored for it. */
export function checkRatios(stored: readonly StoredRatio[], line: object): readonly CheckedRatio[] {
  return stored.map((each) => {
    const measured = figureAt(line, each.at);
    if (measured === null) return { ...each, measured, beyond: null, holds: false };
    const beyond = round(each.better === 'less' ? measured / each.ratio : each.ratio / measured);
    return { ...each, measured, beyond, holds: beyond <= BEYOND_MOST };
  });
}

function figureAt(line: object, at: readonly string[]): number | null {
  let found: unknown = line;
  for (const name of at)
    found =
      typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined;
  return typeof found === 'number' && found > 0 ? found : null;
}

/** One line of text for a person. */
export function describeRatio({ bench, at, ratio, measured, beyond, holds }: CheckedRatio): string {
  const name = `${bench} ${at.filter((part) => part !== 'results').join(' ')}`;
  if (measured === null) return `FAILED  ${name}: the benchmark gives no such figure`;
  const verdict = holds ? 'ok     ' : 'FAILED ';
  return `${verdict} ${name}: ${measured}, stored ${ratio}, ${beyond} times as bad (at most ${BEYOND_MOST})`;
}

export function readStored(): readonly StoredRatio[] {
  return JSON.parse(readFileSync(STORED, 'utf8')) as readonly StoredRatio[];
}

/** Stores what was measured in place of the ratios before; those that were not measured stay. */
export function acceptRatios(checked: readonly CheckedRatio[]): void {
  const items = readStored().map(({ bench, at, ratio, better }) => {
    const name = at.join(' ');
    const now = checked.find((each) => each.bench === bench && each.at.join(' ') === name);
    const members = { bench, at, ratio: now?.measured ?? ratio, better };
    const lines = Object.entries(members).map(
      ([member, value]) => `    "${member}": ${JSON.stringify(value).replaceAll('","', '", "')}`,
    );
    return `  {\n${lines.join(',\n')}\n  }`;
  });
  writeFileSync(STORED, `[\n${items.join(',\n')}\n]\n`);
}
