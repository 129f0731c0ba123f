import type { Release } from '../dependencies.ts';
import { bar, documentStart } from './frame.ts';
import { SAMPLED_CONTRACT_PATH } from './samples.ts';

/**
 * The page loads from its own origin and sends to it only. The API reference adds its styles from its script, so inline
 * styles are allowed; they cannot load anything from elsewhere. Inline scripts are not allowed.
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

/** Settings of the API reference. Every feature that would contact its makers is off. */
const settings = {
  url: SAMPLED_CONTRACT_PATH,
  // The samples of the document: made clients of languages without an SDK would teach requests without its care.
  hiddenClients: true,
  theme: 'default',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  // A typed token is forgotten when the page closes.
  persistAuth: false,
  showOperationId: true,
  documentDownloadType: 'none',
  defaultOpenAllTags: true,
  orderSchemaPropertiesBy: 'preserve',
} as const;

/** Runs before the API reference, whose validation library would otherwise test whether `eval` is allowed. */
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
<noscript><p>The API reference needs JavaScript. The OpenAPI document above holds the same.</p></noscript>
<main id="reference"></main>
<script src="${start}"></script>
<script src="${reference}"></script>
</body>
</html>
`;
}
