/**
 * The style of the pages below `/docs`. Colours come from the API reference where it is on the page, and otherwise from the
 * system, dark or light.
 */
export const style = `:root { --scalar-custom-header-height: 48px; }
body { margin: 0; font-family: var(--scalar-font, system-ui, sans-serif); }
noscript p { padding: 20px; }
.bar {
  position: sticky; top: 0; z-index: 100; box-sizing: border-box; height: 48px; padding: 0 64px 0 20px;
  display: flex; align-items: center; gap: 20px; overflow-x: auto; white-space: nowrap; font-size: 14px;
  background: var(--scalar-background-1, Canvas); color: var(--scalar-color-1, CanvasText);
  border-bottom: 1px solid var(--scalar-border-color, color-mix(in srgb, currentColor 20%, Canvas));
}
.bar strong { margin-right: auto; font-weight: 600; }
.bar small { margin-left: 6px; font-weight: 400; opacity: 0.7; }
.bar a { color: inherit; text-decoration: none; }
.bar a:hover, .bar a:focus-visible { text-decoration: underline; }
article {
  --line: color-mix(in srgb, currentColor 20%, Canvas);
  --shade: color-mix(in srgb, currentColor 7%, Canvas);
  max-width: 860px; margin: 0 auto; padding: 24px 20px 80px; line-height: 1.6; overflow-wrap: break-word;
}
article :is(h1, h2, h3, h4) { line-height: 1.25; margin: 1.6em 0 0.6em; scroll-margin-top: 60px; }
article h1 { margin-top: 0.4em; }
article a { color: LinkText; }
article code { font: 0.88em ui-monospace, monospace; background: var(--shade); padding: 0.1em 0.3em; border-radius: 4px; }
article pre { background: var(--shade); padding: 14px 16px; border-radius: 6px; overflow-x: auto; line-height: 1.45; }
article pre code { background: none; padding: 0; }
article table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 0.94em; }
article :is(th, td) { border: 1px solid var(--line); padding: 6px 10px; text-align: left; vertical-align: top; }
article :is(td, th) code { overflow-wrap: normal; }
article th { background: var(--shade); }
article blockquote { margin-left: 0; padding-left: 16px; border-left: 3px solid var(--line); }
.contents { padding: 12px 20px 40px; font-size: 14px; }
.skip { display: block; padding: 10px 20px 0; font-size: 14px; }
.contents h2 { font-size: 12px; text-transform: uppercase; letter-spacing: 0.04em; opacity: 0.7; margin: 18px 0 6px; }
.contents ul { list-style: none; margin: 0; padding: 0; }
.contents li a { display: block; padding: 3px 8px; border-radius: 4px; color: inherit; text-decoration: none; }
.contents li a:hover { text-decoration: underline; }
.contents [aria-current] { background: color-mix(in srgb, LinkText 15%, Canvas); font-weight: 600; }
form[role='search'] input {
  box-sizing: border-box; width: 100%; padding: 7px 10px; font: inherit; color: inherit; background: Canvas;
  border: 1px solid color-mix(in srgb, currentColor 30%, Canvas); border-radius: 6px;
}
.hits { list-style: none; padding: 0; }
.hits li { margin: 14px 0; }
.languages { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 16px; padding: 6px 12px; border: 1px solid var(--line); border-radius: 6px; }
.languages legend { font-size: 12px; opacity: 0.7; }
article:has(#language-ts:checked) [data-language='python'], article:has(#language-python:checked) [data-language='ts'] { display: none; }
@media (min-width: 1000px) {
  body:has(> .contents) { display: grid; grid-template: auto 1fr / 270px minmax(0, 1fr); }
  body:has(> .contents) > .bar { grid-column: 1 / -1; }
  body:has(> .contents) > article { grid-area: 2 / 2; width: 100%; box-sizing: border-box; }
  .skip { display: none; }
  .contents {
    grid-area: 2 / 1; position: sticky; top: 48px; box-sizing: border-box; height: calc(100vh - 48px); overflow-y: auto;
    padding-bottom: 40px; border-right: 1px solid color-mix(in srgb, currentColor 20%, Canvas);
  }
}
@media (max-width: 600px) {
  .bar { padding: 0 12px; gap: 14px; }
  article { padding: 8px 14px 60px; }
}
article hr { border: 0; border-top: 1px solid var(--line); }
`;
