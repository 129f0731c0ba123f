import { createHash } from 'node:crypto';
import { Command } from 'commander';
import pins from '../../contracts/mcp-pins.json' with { type: 'json' };
import type { ToolDefinition } from '../../functions/mcp/catalog.ts';
import { definitionFaults } from '../../functions/mcp/definitions.ts';
import { exitCodes, jsonText, type OutputForm, outputOption, say, textTable, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { connect, type Remote } from '../remote.ts';
import { ask, itemsOf } from './client.ts';

/** One thing that the check looked at. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

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
      if (url !== undefined) self.parent?.setOptionValueWithSource('server', withoutPath(url), 'cli');
      const findings = await check(await connect(self, inputs));
      const rows = findings.map(({ check: name, ok, detail }) => [ok ? 'ok' : 'fault', name, detail]);
      say(output === 'json' ? jsonText(findings) : textTable(rows));
      const faults = findings.filter(({ ok }) => !ok);
      if (faults.length > 0) warn(`The endpoint has faults: ${faults.length}.`);
      process.exitCode = faults.length > 0 ? exitCodes.failed : exitCodes.ok;
    });
}

function withoutPath(url: string): string {
  return url.replace(/\/mcp\/?$/, '');
}

async function check(remote: Remote): Promise<readonly Finding[]> {
  const { result, error } = await ask(remote, 'server/discover');
  const versions = Array.isArray(result?.['supportedVersions']) ? result['supportedVersions'] : [];
  const discovered = finding(
    'server/discover',
    versions.includes('2026-07-28'),
    error?.message ?? `revisions: ${versions.join(', ')}`,
  );
  if (!discovered.ok) return [discovered];
  const tools = await itemsOf(remote, 'tools/list', 'tools');
  const resources = await itemsOf(remote, 'resources/list', 'resources');
  const definitions = tools as unknown as readonly ToolDefinition[];
  const faults = definitionFaults(definitions);
  const others = [...tools, ...resources].filter((each) => !isOfThisRelease(each));
  const mismatch = await ask(remote, 'server/discover', {}, 'tools/list');
  return [
    discovered,
    finding('tools/list', true, `${tools.length} tools`),
    finding('resources/list', true, `${resources.length} resources`),
    finding('texts', faults.length === 0, faults.join('; ') || 'none instructs, hides or links'),
    finding('hashes', others.length === 0, others.map(nameOf).join(', ') || 'those of this release'),
    finding(
      'mirrored headers',
      mismatch.error?.code === -32_020,
      mismatch.error?.message ?? 'a header that contradicts the body was accepted',
    ),
  ];
}

function finding(name: string, ok: boolean, detail: string): Finding {
  return { check: name, ok, detail };
}

function nameOf({ uri, name }: Readonly<Record<string, unknown>>): string {
  return String(uri ?? name);
}

/** Whether the definition has the hash under which this release knows it. */
function isOfThisRelease(definition: Readonly<Record<string, unknown>>): boolean {
  const known: Readonly<Record<string, string>> = pins;
  const hash = createHash('sha256').update(JSON.stringify(definition)).digest('hex');
  return known[nameOf(definition)] === `sha256:${hash}`;
}
