import { groupsOff } from './groups-off.ts';
import { handlerAdvice } from './handler-advice.ts';
import { identityParts } from './identity-parts.ts';
import { recordAdvice } from './record-advice.ts';
import type { Advice } from './rule.ts';
import type { Host } from './setting.ts';
import { googleIssuers } from './settings/access.ts';
import { type Settings, table } from './table.ts';

/** A rule of advice. The faults, which stop the start, are rules of `rules.ts`. */
type AdviceRule = (settings: Settings, host: Host) => readonly Advice[];

const isDevelopment = ({ service }: Settings) => service.environment === 'Development';

const development: AdviceRule = (settings) => {
  const given = identityParts.some((part) => settings[part].identityPolicies.length > 0);
  if (!isDevelopment(settings) || !given) return [];
  const { key } = table.service.environment;
  const message =
    'is Development although there are identity policies: operations without a policy are open to every caller';
  return [{ key, message, remedy: `Set ${key} to Production.` }];
};

const unservedRuns: AdviceRule = (settings) =>
  groupsOff(settings).flatMap(({ group, reason }) => {
    if (group !== 'execution' || !settings.execution.enabled) return [];
    const { key } = table.executionAccess.identityPolicies;
    const { externalHandlers, plugins } = settings.execution;
    const handlers = externalHandlers.length + plugins.length;
    const found = handlers === 0 ? '' : `, although ${handlers} handlers or plugins are configured`;
    const remedy = `Grant start_run and read_run to an application and worker to a worker (svc init writes them), or set ${table.execution.enabled.key} to false.`;
    return [{ key, message: `the execution runtime is off: ${reason}${found}`, remedy }];
  });

const keysOff: AdviceRule = (settings) => {
  const { requireApiKey, apiKeys, apiKeyHashes, apiKeyFile, apiKey } = settings.security;
  const advice: Advice[] = [];
  const given = apiKeys.length + apiKeyHashes.length > 0 || apiKeyFile !== null || apiKey !== null;
  if (requireApiKey === false && given) {
    const { key } = table.security.requireApiKey;
    advice.push({
      key,
      message: 'is false although API keys are configured: callers may leave the key out',
      remedy: `Remove ${key}, or remove the keys.`,
    });
  }
  if (!isDevelopment(settings) && (apiKey !== null || apiKeys.length > 0)) {
    const { key } = apiKey === null ? table.security.apiKeys : table.security.apiKey;
    const remedy = `Put the hash into ${table.security.apiKeyFile.key} or ${table.security.apiKeyHashes.key}: svc api-key create prints it.`;
    advice.push({ key, message: 'holds an API key in clear text', remedy });
  }
  return advice;
};

const remoteDevelopment: AdviceRule = (settings) => {
  if (!settings.server.allowRemoteDevelopment) return [];
  const { key } = table.server.allowRemoteDevelopment;
  return isDevelopment(settings)
    ? [
        {
          key,
          message: 'opens a Development service to every caller of the network',
          remedy: `Remove it, and set ${table.service.environment.key} to Production with identity policies.`,
        },
      ]
    : [{ key, message: 'has no effect outside Development', remedy: 'Remove it.' }];
};

/** Behind a proxy on the same machine every request comes from the address of the proxy. */
const proxyHops: AdviceRule = (settings, host) => {
  const { host: name, trustedProxyHops } = settings.server;
  if (isDevelopment(settings) || host !== 'embedded' || trustedProxyHops > 0) return [];
  if (!/^(localhost|::1|127\.)/.test(name)) return [];
  const { key } = table.server.trustedProxyHops;
  const message = `is 0 and the server listens on ${name}: behind a proxy all callers share one address, and so one rate limit`;
  return [{ key, message, remedy: `Set ${key} to the number of proxies in front, usually 1.` }];
};

const plainNetwork: AdviceRule = (settings, host) => {
  const { host: name, trustedProxyHops } = settings.server;
  if (isDevelopment(settings) || host !== 'embedded' || trustedProxyHops > 0) return [];
  if (/^(localhost|::1|127\.)/.test(name)) return [];
  const { key } = table.server.host;
  const message = `${name} is reachable from other machines over plain HTTP, which shows tokens to the network`;
  return [
    {
      key,
      message,
      remedy: `Set ${key} to 127.0.0.1 and put a proxy with TLS in front (docs/production.md).`,
    },
  ];
};

const corsOrigins: AdviceRule = (settings) => {
  if (isDevelopment(settings)) return [];
  const { key } = table.cors.allowedOrigins;
  return settings.cors.allowedOrigins.flatMap((origin, index) => {
    if (origin.startsWith('https://')) return [];
    const message = `${origin} is no https origin: an attacker on its network can call the service in its name`;
    return [
      { key: `${key}:${index}`, message, remedy: 'Use the https origin of the application, or remove it.' },
    ];
  });
};

const rateLimits: AdviceRule = ({ rateLimit }) => {
  if (rateLimit.queueLimit <= rateLimit.permitLimit) return [];
  const { key } = table.rateLimit.queueLimit;
  const message = `lets ${rateLimit.queueLimit} requests wait for windows of ${rateLimit.permitLimit}: the last ones wait for several windows`;
  return [{ key, message, remedy: `Set it to at most ${table.rateLimit.permitLimit.key}, or to 0.` }];
};

const retention: AdviceRule = (settings) => {
  const { execution } = settings;
  if (isDevelopment(settings) || !execution.enabled) return [];
  const advice: Advice[] = [];
  if (execution.maxRetainedTerminalRuns === 0) {
    advice.push({
      key: table.execution.maxRetainedTerminalRuns.key,
      message: 'is 0: prune deletes every ended run with its result, history and idempotency key',
      remedy: 'Set it to the number of ended runs that callers still read, such as 1000.',
    });
  }
  if (execution.minRetainedHours === 0) {
    advice.push({
      key: table.execution.minRetainedHours.key,
      message: 'is 0: a repeated start can execute a run again as soon as prune has removed the first',
      remedy: 'Set it to at least the time for which callers repeat a start, such as 24.',
    });
  }
  return advice;
};

/** A run that waits for a person or a timer stays active, so a small share is soon used up. */
const SHARE_MIN = 1_000;

const ceilings: AdviceRule = (settings) => {
  const { enabled, maxActiveRuns, runSharePercent } = settings.execution;
  const share = Math.ceil((maxActiveRuns * runSharePercent) / 100);
  if (isDevelopment(settings) || !enabled || share >= SHARE_MIN) return [];
  const { key } = table.execution.maxActiveRuns;
  const message = `lets one product and tenant have ${share} active runs, waiting ones included: the next start is refused with queue_full`;
  const remedy = `Raise it to the runs that may wait at a time in all, such as 400000; ${table.execution.runSharePercent.key} is the share of one tenant.`;
  return [{ key, message, remedy }];
};

/** The owner of a key file signs every identity; tokens of Google are signed by Google's keys only. */
const keyFileIssuer: AdviceRule = ({ oidc }) => {
  const google = googleIssuers.some((known) => oidc.issuers.includes(known));
  if (oidc.keySetFile === null || !google) return [];
  const { key } = table.oidc.issuers;
  const message = `names Google, but the keys come from ${table.oidc.keySetFile.key}: tokens of Google fail`;
  return [{ key, message, remedy: 'Name the issuer whose keys the file holds.' }];
};

const rules: readonly AdviceRule[] = [
  development,
  unservedRuns,
  handlerAdvice,
  recordAdvice,
  keysOff,
  remoteDevelopment,
  proxyHops,
  plainNetwork,
  corsOrigins,
  rateLimits,
  retention,
  ceilings,
  keyFileIssuer,
];

export function adviceOn(settings: Settings, host: Host): readonly Advice[] {
  return rules.flatMap((rule) => rule(settings, host));
}
