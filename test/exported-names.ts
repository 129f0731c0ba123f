/** Exported names of `functions/`: one name has one declaration, so that a reader who searches for it finds one thing. */

const valuesAndTypes = /^export (?:abstract )?(?:class|interface|type|const|enum) (\w+)/gm;
const functions = /^export (?:async )?function\*? (\w+)/gm;

/** Counterparts: each provider of a port, and each group of the composition, exports the same names. */
const counterparts = /^functions\/(?:(?:store|blobs|queue)\/[^/]+|compose\/groups)\//;

type Texts = ReadonlyMap<string, string>;
type FilesByName = ReadonlyMap<string, readonly string[]>;

/** The files that declare each type, class or constant, where they are several that are no counterparts of each other. */
export function sharedNames(texts: Texts): FilesByName {
  return sharedBy(valuesAndTypes, texts);
}

/** As `sharedNames`, for functions. */
export function sharedFunctions(texts: Texts): FilesByName {
  return sharedBy(functions, texts);
}

function sharedBy(declaration: RegExp, texts: Texts): FilesByName {
  const files = new Map<string, Set<string>>();
  for (const [path, text] of texts) {
    for (const [, name = ''] of text.matchAll(declaration)) {
      const known = files.get(name) ?? new Set();
      files.set(name, known.add(path));
    }
  }
  const shared = [...files].filter(
    ([, paths]) => paths.size > 1 && !([...paths].every(isCounterpart) && hasOnePort([...paths])),
  );
  return new Map(shared.map(([name, paths]) => [name, [...paths].sort()]));
}

function isCounterpart(path: string): boolean {
  return counterparts.test(path) && !path.startsWith('functions/store/nearest/');
}

function hasOnePort(paths: readonly string[]): boolean {
  return new Set(paths.map((path) => path.split('/')[1])).size === 1;
}

const token =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/(?![*/])(?:[^/\\\n]|\\.)+\/|[A-Za-z_$][\w$]*/g;
const vague =
  /^(?:un)?(?:told|tells?|said|says?|nobody|whatever|whoever|letGo)(?![a-z])|(?:Told|Tells?|Said|Says?|Nobody|Whatever|Whoever|LetGo)(?![a-z])/;

/** Identifiers that a reader would not search for: `notify`, `print` and `release` say what `tell`, `say` and `letGo` leave open. */
export function vagueIdentifiers(text: string): string[] {
  const words = (text.match(token) ?? []).filter((word) => /^[\w$]/.test(word));
  return [...new Set(words)].filter((word) => vague.test(word));
}
