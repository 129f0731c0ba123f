import { Command } from 'commander';
import { folderOfNpmRun } from '../../functions/config/machine.ts';
import { release } from '../../functions/release.ts';
import { devCommand } from '../dev.ts';
import { translations } from '../failures.ts';
import { refuseRepeated } from '../once.ts';
import { endingOf, warn } from '../output.ts';

/** `svc-server dev`, the command of the server that `svc dev` is too. */
export async function main(argv: readonly string[]): Promise<void> {
  const typedIn = folderOfNpmRun('start');
  if (typedIn !== undefined) process.chdir(typedIn);
  const command = devCommand();
  const program = new Command('svc-server').version(release.version).addCommand(command);
  for (const each of [program, command]) each.exitOverride();
  refuseRepeated(command);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    const { exitCode, message } = endingOf(error, translations);
    process.exitCode = exitCode;
    if (message !== null) warn(message);
  }
}
