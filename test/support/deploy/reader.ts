import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildFunctions, packFunctions } from '../../../scripts/build.ts';
import { type Ended, follow } from '../operator-tool.ts';

/** The folder of an operator who follows the page: a checkout, and the programs on the path. */

const root = resolve(import.meta.dirname, '../../..');
/** The domain that the reader puts in place of that in the page. */
export const ownDomain = 'svc.claims.example';
export const publicAddress = `https://${ownDomain}`;

export class DeployReader {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-deploy-'));
  env: Readonly<Record<string, string>> = {};
  /** The `export` lines so far: the page's reader keeps one shell. */
  #exports = '';

  constructor() {
    cpSync(join(root, 'infra'), join(this.folder, 'infra'), {
      recursive: true,
      filter: (path) => !path.endsWith('node_modules'),
    });
    mkdirSync(join(this.folder, 'bin'));
    for (const name of ['gcloud', 'terraform', 'npm'])
      this.#program(
        name,
        `exec '${process.execPath}' '${join(import.meta.dirname, 'forward.ts')}' ${name} "$@"`,
      );
    // The public address is that of the stand-in's load balancer.
    this.#program(
      'svc',
      [
        `if [ "\${SVC_SERVER:-}" = ${publicAddress} ]; then SVC_SERVER=$STAND_IN_ADDRESS; fi`,
        `for word do shift; if [ "$word" = ${publicAddress} ]; then word=$STAND_IN_ADDRESS; fi; set -- "$@" "$word"; done`,
        `exec '${process.execPath}' '${join(root, 'cli/main.ts')}' "$@"`,
      ].join('\n'),
    );
  }

  #program(name: string, text: string): void {
    const path = join(this.folder, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
  }

  /** Runs the commands as the reader types them: the first that fails ends it. */
  run(script: string): Promise<Ended> {
    const env = {
      ...this.env,
      PATH: `${join(this.folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: this.folder,
      METADATA_SERVER_DETECTION: 'none',
    };
    const child = spawn('sh', ['-euc', `${this.#exports}\n${script}`], { cwd: this.folder, env });
    this.#exports += (script.match(/^export .*$/gm) ?? []).map((line) => `${line}\n`).join('');
    return follow(child).ended;
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  edit(path: string, change: (text: string) => string): void {
    writeFileSync(join(this.folder, path), change(this.read(path)));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** `npm run build` of a release; the next one differs in its version alone. */
export function builder(versions: readonly string[]): (cwd: string) => Promise<void> {
  const left = [...versions];
  let built: string | undefined;
  return async (cwd) => {
    const outdir = join(cwd, 'dist/functions');
    const version = left.shift() ?? '';
    if (built === undefined) await buildFunctions(outdir);
    else renamed(outdir, built, version);
    built = version;
    await packFunctions(outdir);
  };
}

function renamed(outdir: string, from: string, to: string): void {
  for (const name of readdirSync(outdir).filter((each) => /\.js$|^package\.json$/.test(each))) {
    const text = readFileSync(join(outdir, name), 'utf8');
    writeFileSync(join(outdir, name), text.replaceAll(`"${from}"`, `"${to}"`));
  }
}
