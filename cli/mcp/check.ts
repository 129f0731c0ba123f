import { Command } from 'commander';
import type { ToolDefinition } from '../../functions/mcp/catalog.ts';
import { exitCodes, jsonText, type OutputForm, outputOption, printLine, textTable, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { connect, type Remote } from '../remote.ts';
import { ask, itemsOf } from './client.ts';
import type { Finding } from './listing.ts';

/** `svc mcp check` */
export function checkCommand(inputs: Inputs): Command {
  return new Command('check')
    .description(
      'checks that the endpoint answers, what it offers, and that its texts are those of this release',
    )
    .argument('[url]', 'address of the service or of its endpoint; the same as --server')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  svc mcp check http://127.0.0.1:5220')
    .action(async (url: string | undefined, { output }: { output: OutputForm }, self: Command) => {
      if (url !== undefined) self.parent?.setOptionValueWithSource('server', withoutEndpoint(url), 'cli');
      const findings = await check(await connect(self, inputs));
      const rows = findings.map(({ check: name, ok, detail }) => [ok ? 'ok' : 'fault', name, detail]);
      printLine(output === 'json' ? jsonText(findings) : textTable(rows));
      const faults = findings.filter(({ ok }) => !ok);
      if (faults.length > 0) warn(`The endpoint has faults: ${faults.length}.`);
      process.exitCode = faults.length > 0 ? exitCodes.failed : exitCodes.ok;
    });
}

/** The address of the service, where the address of its endpoint is given. */
export function withoutEndpoint(url: string): string {
  return url.replace(/\/mcp\/?$/, '');
}

/** The definitions of this release. Other commands start without them. */
async function ownDefinitions(): Promise<readonly ToolDefinition[]> {
  const { default: own } = await import('../../contracts/generated/mcp/definitions.json', {
    with: { type: 'json' },
  });
  const tools = own.definitions.filter(({ exposure }) => exposure !== 'resource');
  return tools.map(({ definition }) => definition as unknown as ToolDefinition);
}

async function check(remote: Remote): Promise<readonly Finding[]> {
  // Other commands start without the pins of the texts.
  const { finding, listingFindings } = await import('./listing.ts');
  const { result, error } = await ask(remote, 'server/discover');
  const versions = Array.isArray(result?.['supportedVersions']) ? result['supportedVersions'] : [];
  const discovered = finding(
    'server/discover',
    versions.includes('2026-07-28'),
    // The endpoint lists the revisions that clients choose without `initialize`.
    error?.message ?? 'answers 2026-07-28, the revision of this check',
  );
  if (!discovered.ok) return [discovered];
  const tools = await itemsOf(remote, 'tools/list', 'tools');
  const resources = await itemsOf(remote, 'resources/list', 'resources');
  const mismatch = await ask(remote, 'server/discover', {}, 'tools/list');
  return [
    discovered,
    ...listingFindings({ instructions: result?.['instructions'], tools, resources }, await ownDefinitions()),
    finding(
      'mirrored headers',
      mismatch.error?.code === -32_020,
      mismatch.error === undefined
        ? 'a header that contradicts the body was accepted'
        : 'a header that contradicts the body is refused',
    ),
  ];
}
