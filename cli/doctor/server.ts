import type { ServerHealthStatus, ServerReadinessReport } from '../../contracts/generated/models.ts';
import { release } from '../../functions/release.ts';
import { exitCodes } from '../output.ts';
import { addressText } from '../remote/address.ts';
import type { Remote } from '../remote.ts';
import { type Check, failed, messageOf, ok, warning } from './check.ts';

/** With a larger clock difference, valid identity tokens look expired or not yet valid. */
const clockToleranceMs = 60_000;

/** Checks a running service through its public routes: no credential is sent. */
export async function serverChecks(remote: Remote, now: () => number): Promise<Check[]> {
  const address = addressText(remote.server);
  try {
    const health = await getJson<ServerHealthStatus>(remote, '/health');
    if (health?.service !== release.service) {
      return [failed('server', `${address} is not a service of this kind.`, 'Check the address.')];
    }
    const report = await getJson<ServerReadinessReport>(remote, '/readiness');
    return [
      ok('server', `${address} answers: ${health.service} ${health.version}.`),
      versionCheck(health.version),
      clockCheck(health.checkedAt, now()),
      readinessCheck(report),
    ];
  } catch (error) {
    return [failed('server', messageOf(error), 'Start it, or check the address.')];
  }
}

/** The answer as JSON; `undefined` for anything else. */
export async function getJson<T>(remote: Remote, path: string): Promise<T | undefined> {
  const answer = await remote.send({ method: 'GET', path, headers: [], body: null });
  const text = (await remote.bodyOf(answer, 1024 ** 2)).toString('utf8');
  try {
    return answer.statusCode === 200 ? (JSON.parse(text) as T) : undefined;
  } catch {
    return undefined;
  }
}

/** @testonly */
export function versionCheck(version: string): Check {
  if (version === release.version)
    return ok('server-version', `The tool and the service are both ${version}.`);
  const message = `The service is ${version}, this tool ${release.version}.`;
  return warning(
    'server-version',
    message,
    'Operations that one of them lacks fail; use the tool of that release.',
  );
}

/** @testonly */
export function clockCheck(checkedAt: string, now: number): Check {
  const apart = Math.abs(Date.parse(checkedAt) - now);
  if (apart <= clockToleranceMs) return ok('server-clock', 'The clocks of service and machine agree.');
  const message = `The clocks of service and machine are ${Math.round(apart / 1000)} seconds apart.`;
  return warning(
    'server-clock',
    message,
    'Set both from a time server: the clock decides whether an identity token is valid.',
  );
}

/** @testonly */
export function readinessCheck(report: ServerReadinessReport | undefined): Check {
  if (report === undefined) {
    return failed('server-readiness', 'The service does not report its readiness.', 'Read its log.');
  }
  if (!report.ready) {
    const remedy = 'svc api getReadiness and the log of the service show the details.';
    return failed('server-readiness', `${report.summary} ${report.blockers.join(' ')}`.trim(), remedy);
  }
  const warnings = report.warnings.filter((each) => !isWithoutNeed(each, report));
  if (warnings.length === 0) return ok('server-readiness', report.summary);
  return warning('server-readiness', `${report.summary} ${warnings.join(' ')}`, remedyOf(warnings, report));
}

function remedyOf(warnings: readonly string[], { checks = [] }: Partial<ServerReadinessReport>): string {
  const isOfProviders = (text: string) =>
    checks.some(({ id, message }) => id === 'providers.readiness' && message === text);
  const remedies = [];
  if (warnings.some(isOfProviders))
    remedies.push('Prove the capabilities of each provider by qualifyProvider: see docs/providers.md.');
  if (!warnings.every(isOfProviders)) {
    const what = remedies.length === 0 ? 'This' : 'The rest';
    remedies.push(`${what} may be intended in Development; otherwise see docs/security.md.`);
  }
  return remedies.join(' ');
}

/** Where callers must be known by their tokens, a key beside them is a choice: its absence is no finding. */
function isWithoutNeed(text: string, { checks = [] }: Partial<ServerReadinessReport>): boolean {
  const known = checks.some(({ id, status }) => id === 'security.canonical_access' && status === 'ok');
  return known && checks.some(({ id, message }) => id === 'security.api_key' && message === text);
}

/** The exit code for the worst result. */
export function exitCodeOfChecks(checks: readonly Check[]): number {
  return checks.some(({ status }) => status === 'failed') ? exitCodes.failed : exitCodes.ok;
}
