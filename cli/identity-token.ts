import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { machine } from '../functions/compose/machine.ts';
import { faultsText } from '../functions/config/fault.ts';
import { readSettings } from '../functions/config/load.ts';
import { inputOf } from '../functions/config/machine.ts';
import { type Settings, table } from '../functions/config/table.ts';
import { mintToken, readSigningKey } from './identity/signing-key.ts';
import { fileNames } from './init/answers.ts';
import { writeWhole } from './init/files.ts';
import { exitCodes, printLine, ToolError } from './output.ts';

interface TokenOptions {
  readonly settings?: string;
  readonly principal: string;
  readonly key?: string;
  readonly audience?: string;
  readonly lifetimeSeconds: number;
  readonly out?: string;
}

const lifetimeMost = 86_400;

/** `svc identity-token`: signs an identity token with the key that `svc init` made. */
export function identityTokenCommand(): Command {
  return new Command('identity-token')
    .description('signs an identity token with the key that svc init made')
    .requiredOption('--principal <name>', 'the principal that the token names')
    .option('--settings <file>', 'the settings of the service')
    .option(
      '--key <file>',
      `the signing key (default: ${fileNames.signingKey} beside Server:Oidc:KeySetFile)`,
    )
    .option('--audience <text>', 'the audience (default: the first of the settings)')
    .addOption(
      new Option('--lifetime-seconds <count>', `how long the token is valid, at most ${lifetimeMost}`)
        .argParser(lifetime)
        .default(3_600),
    )
    .option('--out <file>', 'writes the token to a file of its owner, which appears whole')
    .addHelpText('after', examples)
    .action((options: TokenOptions) => create(options));
}

async function create(options: TokenOptions): Promise<void> {
  const { principal, lifetimeSeconds, out } = options;
  const settings = settingsFrom(options.settings);
  const { oidc, canonicalAccess, executionAccess } = settings;
  if (oidc.keySetFile === null) {
    const message = `${table.oidc.keySetFile.key} is not set: another issuer makes the tokens of this service`;
    throw new ToolError(message, exitCodes.usage);
  }
  const path = options.key ?? join(dirname(oidc.keySetFile), fileNames.signingKey);
  const [audience] = [
    options.audience ?? [],
    canonicalAccess.allowedAudiences,
    executionAccess.allowedAudiences,
  ].flat();
  const [issuer] = oidc.issuers;
  if (audience === undefined || issuer === undefined) {
    throw new ToolError('The settings name no audience and no issuer of tokens', exitCodes.usage);
  }
  refuseUnknown(settings, principal);
  const token = mintToken(readSigningKey(readFileSync(path, 'utf8'), path), {
    issuer,
    audience,
    principal,
    principalClaim: oidc.principalClaim,
    issuedAt: Math.floor(machine.clock.now() / 1_000),
    lifetimeSeconds,
  });
  if (out === undefined) printLine(token);
  else await writeWhole(out, { text: `${token}\n`, secret: true });
}

function settingsFrom(path: string | undefined): Settings {
  const { settings, faults } = readSettings(
    inputOf('embedded', path === undefined ? [] : [`--settings=${path}`]),
  );
  const own = faults.filter(({ key }) => key.toLowerCase().startsWith('server:') || key.endsWith('.json'));
  if (own.length > 0) throw new ToolError(faultsText(own), exitCodes.usage);
  return settings;
}

/** A token of a principal without a grant is refused by every operation: probably a typing error. */
function refuseUnknown({ canonicalAccess, executionAccess }: Settings, principal: string): void {
  const policies = [...canonicalAccess.identityPolicies, ...executionAccess.identityPolicies];
  if (policies.some(({ Principal }) => Principal === principal)) return;
  throw new ToolError(`No identity policy names the principal ${principal}`, exitCodes.notFound);
}

function lifetime(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,5}$/.test(text) && seconds >= 1 && seconds <= lifetimeMost) return seconds;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${lifetimeMost}.`);
}

const examples = `
The service accepts tokens of at most a day. A timer can renew the file that a client reads (docs/production.md).

Examples:
  $ svc identity-token --principal app
  $ svc identity-token --settings /etc/svc/svcsettings.json --principal app --out /run/app/svc.token --lifetime-seconds 86400`;
