/** The commands of a page, in its order. */

export interface Section {
  readonly title: string;
  /** The fenced shell lines of the section, as one script. */
  readonly script: string;
}

export function sectionsOf(page: string): Section[] {
  return page
    .split(/^## /m)
    .map((text, at) => ({ title: at === 0 ? '' : text.split('\n', 1).join(''), script: fenced(text, 'sh') }))
    .filter(({ script }) => script !== '');
}

/** The content of all blocks with this tag. */
export function fenced(text: string, tag: string): string {
  const blocks = [...text.matchAll(/^```([a-z]*)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, found, block = '']) => (found === tag ? [block] : [])).join('');
}

/** Each line of a program, with the variables that the page sets and without its redirection. */
export function linesOf(page: string, program: string): string[] {
  const variables = new Map<string, string>();
  const lines: string[] = [];
  for (const line of fenced(page, 'sh').split('\n')) {
    const known = line.replace(/\$(\w+)/g, (whole, name: string) => variables.get(name) ?? whole);
    for (const [, name = '', value = ''] of known.matchAll(/(?<=^export .*)\b([A-Z]+)=("[^"]*"|\S+)/g))
      variables.set(name, value.replaceAll('"', ''));
    if (known.startsWith(`${program} `)) lines.push(known.replace(/ > \S+$/, ''));
  }
  return lines;
}
