import { Command } from 'commander';
import type { CanonicalPreflightReport } from '../contracts/generated/models.ts';
import { parseJson } from '../functions/kernel/json-text.ts';
import { accessLines } from './api/access.ts';
import { apiOperations } from './api/catalog.ts';
import { requestOf } from './api/request.ts';
import {
  exitCodes,
  jsonText,
  type OutputForm,
  outputOption,
  printLine,
  resultText,
  textTable,
  warn,
} from './output.ts';
import { type Inputs, processInputs } from './remote/inputs.ts';
import { printableValues } from './remote/printable.ts';
import { connect, mediaTypeOf, type Remote, remoteOptions } from './remote.ts';

interface PreflightOptions {
  readonly probe?: true;
  readonly output: OutputForm;
}

/** `svc canonical-preflight`: asks a running service whether its store is ready. */
export function preflightCommand(inputs: Inputs = processInputs()): Command {
  const command = new Command('canonical-preflight')
    .description('asks a running service whether its canonical store is fit to serve')
    .option('--probe', 'proves it by writing: in two tenants of its own, which are emptied again');
  for (const option of remoteOptions('required')) command.addOption(option);
  return command.addOption(outputOption()).action(async (options: PreflightOptions, self: Command) => {
    process.exitCode = await preflight(await connect(self, inputs), options);
  });
}

async function preflight(remote: Remote, { probe, output }: PreflightOptions): Promise<number> {
  const id = probe ? 'probeCanonicalStoreDataPlane' : 'preflightCanonicalStore';
  const operation = apiOperations.find((each) => each.id === id);
  if (operation === undefined) throw new Error(`the contract has no operation ${id}`);
  const answer = await remote.send({ ...requestOf(operation, { params: [] }), body: null });
  const body = await remote.bodyOf(answer);
  const report = [200, 503].includes(answer.statusCode ?? 0)
    ? reportIn(mediaTypeOf(answer), body)
    : undefined;
  if (report === undefined) {
    return remote.refuse(answer, body, accessLines(operation, { params: [], body: null }));
  }
  printLine(output === 'json' ? jsonText(report) : reportTable(report));
  if (answer.statusCode === 200) return exitCodes.ok;
  warn(`The store is not fit to serve: ${reasonOf(report)}.`);
  return exitCodes.failed;
}

/**
 * The service also reports an unready store in this form, with 503; every other body, such as a problem, is a
 * refusal.
 */
function reportIn(mediaType: string, body: Buffer): CanonicalPreflightReport | undefined {
  if (mediaType !== 'application/json') return undefined;
  try {
    const report = parseJson(body.toString('utf8')) as CanonicalPreflightReport | null;
    return Array.isArray(report?.requiredOperations) ? report : undefined;
  } catch {
    return undefined;
  }
}

function reportTable(report: CanonicalPreflightReport): string {
  const { dataPlaneProbe, ...given } = printableValues(report);
  const facts = { ...given, authenticationMode: modeText(given) };
  if (dataPlaneProbe === null) return resultText('table', facts);
  const { checks, ...outcome } = dataPlaneProbe;
  const rows = checks.map(({ id, status, message }) => [id, status, message]);
  const found = textTable([['CHECK', 'STATUS', 'MESSAGE'], ...rows]);
  return [resultText('table', facts), resultText('table', outcome), found].join('\n\n');
}

/** Without policies the mode is a default that no caller meets. */
function modeText({
  authenticationMode,
  tenantPoliciesEnforced,
}: Pick<CanonicalPreflightReport, 'authenticationMode' | 'tenantPoliciesEnforced'>): string {
  return tenantPoliciesEnforced ? authenticationMode : `none (${authenticationMode} once there are policies)`;
}

function reasonOf({ tenantPoliciesEnforced, dataPlaneProbe }: CanonicalPreflightReport): string {
  if (dataPlaneProbe?.ready === false) return 'the probe failed';
  return tenantPoliciesEnforced ? 'the service says so' : 'no policy guards its tenants';
}
