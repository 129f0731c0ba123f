import { expect, test } from 'vitest';
import { renderMarkdown } from './markdown.ts';

const render = (text: string) => renderMarkdown(text, (href) => href === 'tool.md#copies');

test('headings have the names that links to them use', () => {
  const html = render("# Where `svc` is, and isn't\n\n## Copies\n\n## Copies\n\n### Über uns\n");
  expect(html.match(/id="[^"]*"/g)).toEqual([
    'id="where-svc-is-and-isnt"',
    'id="copies"',
    'id="copies-1"',
    'id="über-uns"',
  ]);
  expect(html).toContain('Where <code>svc</code> is');
});

test('a link to what is not served is its text', () => {
  expect(render('[one](tool.md#copies)')).toBe('<p><a href="tool#copies">one</a></p>\n');
  expect(render('[one](#here) [two](https://example.com/)')).toBe(
    '<p><a href="#here">one</a> <a href="https://example.com/">two</a></p>\n',
  );
  expect(render('[`one`](../scripts/build.ts)')).toBe('<p><code>one</code></p>\n');
  expect(render('[one](javascript:alert(1)) [two](data:text/html,x)')).toBe('<p>one two</p>\n');
});

test('of HTML only a break is kept', () => {
  expect(render('| a |\n|---|\n| b<br>c |\n')).toContain('<td>b<br>c</td>');
  expect(render('<!-- Generated. -->\n\ntext <!-- more -->')).toBe('<p>text </p>\n');
  expect(render('a <b onclick="x()">b</b>\n\n<script>x()</script>\n')).toBe(
    '<p>a &lt;b onclick=&quot;x()&quot;&gt;b&lt;/b&gt;</p>\n&lt;script&gt;x()&lt;/script&gt;\n',
  );
});
