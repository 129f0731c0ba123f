/** The path to a value in a JSON text: names and positions. */
export type JsonPlace = readonly (string | number)[];

interface Level {
  /** The names seen so far; `null` in an array. */
  readonly names: Set<string> | null;
  at: string | number;
}

// A string, a bracket or separator, or the text between them. Each match begins where the last one ended, so that no
// text is read twice.
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")|[{}[\],:]|[^"{}[\],:]+/gy;

/**
 * The place of the first member whose object names it twice; `undefined` if there is none. `JSON.parse` does not report it: it
 * takes the last one. The text must be valid JSON. Names are compared after their escapes are read and `spell` is applied.
 */
export function repeatedMember(
  text: string,
  spell: (name: string) => string = (name) => name,
): JsonPlace | undefined {
  const levels: Level[] = [];
  let last = '';
  for (const [token, string] of text.matchAll(tokens)) {
    const level = levels.at(-1);
    if (token === '{') levels.push({ names: new Set(), at: '' });
    else if (token === '[') levels.push({ names: null, at: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',') {
      if (typeof level?.at === 'number') level.at += 1;
    } else if (token === ':' && level?.names) {
      level.at = JSON.parse(last) as string;
      const name = spell(level.at);
      if (level.names.has(name)) return levels.map(({ at }) => at);
      level.names.add(name);
    }
    if (string !== undefined) last = string;
  }
  return undefined;
}
