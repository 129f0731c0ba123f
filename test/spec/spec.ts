import type { CatalogOperation } from '../../contracts/generate/catalog.ts';

/** The requirements of parts A (canonical store), B (execution runtime) and C (clients and MCP), one sentence an entry. */

export interface Requirement {
  /** File and number: stable, so that a finding can name it. */
  readonly id: string;
  readonly sentence: string;
  /** `file > title`, as the title stands in the source; `file > title > row` names one row of a table of cases. */
  readonly tests?: readonly string[];
  /** The operation (`startGraphImportJob`) or the endpoint (`POST /mcp`) that the sentence is about and that is not built yet. */
  readonly waitsFor?: string;
}

export interface Known {
  readonly operations: readonly Pick<CatalogOperation, 'id' | 'routes'>[];
  /** `undefined` for a file that does not exist. */
  readonly textOf: (path: string) => string | undefined;
}

/** The faults of the entries, as sentences that name the requirement. */
export function requirementFaults(requirements: readonly Requirement[], known: Known): readonly string[] {
  const ids = new Set<string>();
  return requirements.flatMap((requirement) => {
    const faults = [...stateFaults(requirement, known), ...testFaults(requirement, known)];
    if (ids.has(requirement.id)) faults.push('its id is taken');
    ids.add(requirement.id);
    return faults.map((fault) => `${requirement.id} (${requirement.sentence.slice(0, 60)}): ${fault}`);
  });
}

function stateFaults({ tests = [], waitsFor }: Requirement, known: Known): string[] {
  if (waitsFor === undefined) return tests.length > 0 ? [] : ['no test is named'];
  if (tests.length > 0) return ['it has tests, so it must not wait'];
  return isBuilt(waitsFor, known) ? [`it waits for ${waitsFor}, which exists: name its tests`] : [];
}

function isBuilt(waitsFor: string, { operations }: Known): boolean {
  return operations.some(
    ({ id, routes }) =>
      id === waitsFor || routes.some(({ method, path }) => `${method} ${path}` === waitsFor),
  );
}

function testFaults({ tests = [] }: Requirement, { textOf }: Known): string[] {
  return tests.flatMap((test) => {
    const [file = '', ...titles] = test.split(' > ');
    const text = textOf(file);
    if (text === undefined) return [`${file} does not exist`];
    if (titles.length === 0) return [`${file}: no title is named`];
    return titles.filter((title) => !hasTitle(text, title)).map((title) => `${file} has no test "${title}"`);
  });
}

/** Whether the source of a test file holds the title, quoted, or as a function of Python. */
function hasTitle(text: string, title: string): boolean {
  if (title === '') return false;
  const escaped = title.replaceAll("'", "\\'");
  return (
    [`'${escaped}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted)) ||
    text.includes(`def ${title}(`)
  );
}
