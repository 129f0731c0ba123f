import type { Release } from '../dependencies.ts';
import { pathOf } from '../health.ts';
import { bar, documentStart } from './frame.ts';

/**
 * The page loads from its own origin only, and sends there only: an answer that it shows cannot lead elsewhere. The API
 * reference brings its styles along in its script and puts them into the page, as the editor in it does; they may be
 * inline, for there is nowhere that a style could load from. No script may.
 */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

/** What the API reference is told. All that would call its makers, or offer to, is off. */
const settings = {
  url: pathOf('getOpenApiContract'),
  theme: 'default',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  // A token that was typed in is gone with the page.
  persistAuth: false,
  showOperationId: true,
  documentDownloadType: 'none',
  defaultOpenAllTags: true,
  orderSchemaPropertiesBy: 'preserve',
} as const;

/** Runs before the API reference: the checks in it would otherwise try whether code may be made from text. */
export const startScript = `globalThis.__zod_globalConfig = { jitless: true };
addEventListener('DOMContentLoaded', () => {
  Scalar.createApiReference('#reference', ${JSON.stringify(settings)});
});
`;

export interface PagePaths {
  readonly style: string;
  readonly start: string;
  readonly reference: string;
}

export function page(release: Release, { style, start, reference }: PagePaths): string {
  return `${documentStart(`${release.service} ${release.version} · API reference`, style)}
<body>
${bar(release)}
<noscript><p>The API reference needs JavaScript. The OpenAPI document above tells the same.</p></noscript>
<main id="reference"></main>
<script src="${start}"></script>
<script src="${reference}"></script>
</body>
</html>
`;
}
