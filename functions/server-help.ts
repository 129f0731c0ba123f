import { settingsHelp } from './config/help.ts';
import { release, startCommand } from './release.ts';

/** The answer of the embedded server to `--help`. No start of a service needs it. */
export function serverHelp(): string {
  return [
    `${release.service} ${release.version}: the whole service in one process.`,
    '',
    `Usage: ${startCommand} [--Key=value …]`,
    `       ${startCommand} dev [worker.ts]   a Development server with the handlers of a file; dev --help has its options`,
    '',
    '  --help           shows this',
    '  --version        shows the release',
    '  --settings FILE  reads FILE instead of svcsettings.json (SVC_SETTINGS)',
    '',
    'Settings, the later source wins: svcsettings.json, svcsettings.{Environment}.json, the environment',
    '(Server__Port=5220 or the short names in brackets), the command line (--Server:Port=5220).',
    '',
    settingsHelp({ environment: 'Development', host: 'embedded' }),
  ].join('\n');
}
