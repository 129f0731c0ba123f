import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A Chromium of this machine. */
export function installedChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      // Root, as in a container, may not have one.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      // Every request to another origin is not found, and no name is resolved.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      '--disable-background-networking',
    ],
  });
}

/** A page with its requests and its errors. */
export interface WatchedPage {
  readonly page: Page;
  /** Addresses of all requests of every kind, those that a policy stopped included. */
  readonly requested: readonly string[];
  /** Errors and warnings of the console, exceptions, and violations of the content security policy. */
  readonly complaints: () => Promise<readonly string[]>;
}

// As text: nothing else of the project knows what a browser has.
const watchPolicy = `globalThis.violations = [];
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
  globalThis.violations.push(effectiveDirective + ' ' + blockedURI);
});`;

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  // The script of the page is large, and the machine may be busy.
  context.setDefaultTimeout(50_000);
  const requested: string[] = [];
  const said: string[] = [];
  context.on('request', (request) => requested.push(request.url()));
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') said.push(message.text());
  });
  context.on('weberror', (error) => said.push(error.error().message));
  await context.addInitScript(watchPolicy);
  const page = await context.newPage();
  page.on('websocket', (socket) => requested.push(socket.url()));
  return {
    page,
    requested,
    complaints: async () => [...said, ...(await page.evaluate<string[]>('globalThis.violations'))],
  };
}
