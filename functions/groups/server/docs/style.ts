/**
 * The style of the pages below `/docs`. Colours are those of the API reference where it is on the page, and otherwise those
 * of the system, dark or light.
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
article hr { border: 0; border-top: 1px solid var(--line); }
`;
