import { execFile, spawnSync } from 'node:child_process';

/** The release in which a variable may be checked against another, and `terraform test` has mock providers. */
const versionMin = 9;

const found = spawnSync('terraform', ['version', '-json'], {
  encoding: 'utf8',
  env: { ...process.env, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: '/dev/null' },
});

function isUsable(): boolean {
  const [, minor] = /"terraform_version": "1\.(\d+)\./.exec(found.stdout ?? '') ?? [];
  return minor !== undefined && Number(minor) >= versionMin;
}

/** Why tests with Terraform are left out of this run; `undefined` where there is one. A run that must be complete has it. */
export const terraformMissing =
  process.env['CI'] !== undefined || isUsable()
    ? undefined
    : `(skipped: no terraform from 1.${versionMin} on in PATH)`;

export interface Finished {
  readonly status: number;
  /** Both streams, as they were written. */
  readonly output: string;
}

/** Runs Terraform in a folder. Its environment decides which provider it attaches to. */
export function terraform(
  folder: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const options = { cwd: folder, env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile('terraform', args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ status: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}
