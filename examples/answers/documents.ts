import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A page of the documentation. */
export interface Page {
  /** The path of the page in the project; the id of the document. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** The pages directly below `docs/`, in the order of their names. */
export function pagesOf(root: string): readonly Page[] {
  return globSync('docs/*.md', { cwd: root })
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const title = /^# (.+)$/m.exec(text)?.[1] ?? basename(path);
      return { path, title, text };
    });
}

/** The page with one more sentence at the end of its first paragraph behind the title: what an editor does. */
export function edited(page: Page, sentence: string): Page {
  const end = page.text.indexOf('\n\n', page.text.indexOf('\n\n') + 2);
  const at = end === -1 ? page.text.length : end;
  return { ...page, text: `${page.text.slice(0, at)} ${sentence}${page.text.slice(at)}` };
}
