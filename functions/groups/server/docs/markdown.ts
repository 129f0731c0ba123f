import { Marked } from 'marked';
import { escapeHtml } from './frame.ts';

/** A page of the documentation as HTML. Links to what is not served become plain text; HTML in it is shown, not kept. */
export function renderMarkdown(text: string, isServed: (href: string) => boolean): string {
  const slugs = new Map<string, number>();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text: source }) {
        return `<h${depth} id="${slugOf(source, slugs)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        if (href.startsWith('#') || /^https?:\/\//.test(href) || isServed(href)) return false;
        return this.parser.parseInline(tokens);
      },
      html({ text: raw }) {
        if (/^<br ?\/?>$/.test(raw)) return '<br>';
        return raw.trim().startsWith('<!--') ? '' : escapeHtml(raw);
      },
    },
  });
  return marked.parse(text, { async: false });
}

/** The name that links to a heading use, as the places where repositories are read make it. */
function slugOf(heading: string, slugs: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const before = slugs.get(slug) ?? 0;
  slugs.set(slug, before + 1);
  return before === 0 ? slug : `${slug}-${before}`;
}
