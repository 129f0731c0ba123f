import { lexer, Marked, Parser, type Token } from 'marked';
import { cleanAddress, escapeHtml } from './frame.ts';

const languages: Readonly<Record<string, string>> = { ts: 'TypeScript', python: 'Python' };

/**
 * A page of the documentation as HTML. A link to a page that is not served becomes plain text, and HTML in the page is shown as
 * text. A page with snippets in both client languages gets one switch for all of them, made of styles alone.
 */
export function renderMarkdown(markdown: string, isServed: (href: string) => boolean): string {
  const slugs = slugger();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text: source }) {
        return `<h${depth} id="${slugs(source)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        if (href.startsWith('#') || /^https?:\/\//.test(href)) return false;
        const text = this.parser.parseInline(tokens);
        return isServed(href) ? `<a href="${escapeHtml(cleanAddress(href))}">${text}</a>` : text;
      },
      code({ text: code, lang = '' }) {
        const name = languages[lang];
        const mark = name === undefined ? '' : ` data-language="${lang}" aria-label="${name}"`;
        return `<pre${mark}><code>${escapeHtml(code)}\n</code></pre>\n`;
      },
      html({ text: raw }) {
        if (/^<br ?\/?>$/.test(raw)) return '<br>';
        return raw.trim().startsWith('<!--') ? '' : escapeHtml(raw);
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  const switchable = Object.keys(languages).every((language) => html.includes(`data-language="${language}"`));
  return switchable ? html.replace('</h1>\n', `</h1>\n${languageSwitch()}`) : html;
}

/** The text of the paragraph below the title, without markup; empty where the page starts with a list, a table or code. */
export function firstParagraph(markdown: string): string {
  const first = lexer(markdown).find(({ type }) => !beforeText.has(type));
  return first?.type === 'paragraph' ? plainText(first.tokens ?? []) : '';
}

const beforeText = new Set(['heading', 'space', 'html']);

function plainText(tokens: Token[]): string {
  const parser = new Parser();
  return parser.parseInline(tokens, parser.textRenderer).replaceAll(/\s+/g, ' ');
}

function languageSwitch(): string {
  const choices = Object.entries(languages).map(([language, name], index) => {
    const checked = index === 0 ? ' checked' : '';
    return `<label><input type="radio" name="language" id="language-${language}"${checked}> ${name}</label>`;
  });
  return `<fieldset class="languages"><legend>Language of the snippets</legend>\n${choices.join('\n')}\n</fieldset>\n`;
}

/** Makes the name by which links reach a heading, as code hosts do; repeated headings of one page get numbers. */
export function slugger(): (heading: string) => string {
  const slugs = new Map<string, number>();
  return (heading) => slugOf(heading, slugs);
}

function slugOf(heading: string, slugs: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const before = slugs.get(slug) ?? 0;
  slugs.set(slug, before + 1);
  return before === 0 ? slug : `${slug}-${before}`;
}
