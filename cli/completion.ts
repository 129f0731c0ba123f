import { Argument, Command } from 'commander';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { type CompletedProgram, programOf } from './completion/tree.ts';
import { zshScript } from './completion/zsh.ts';
import { printLine } from './output.ts';

const scripts: Readonly<Record<string, (program: CompletedProgram) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `svc completion`: prints a completion script, generated from the commands. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('prints a script with which a shell completes commands, options and operation ids')
    .addArgument(new Argument('<shell>', 'which').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      `
bash  source <(svc completion bash)    in ~/.bashrc
zsh   source <(svc completion zsh)     in ~/.zshrc, after compinit
fish  svc completion fish | source     in ~/.config/fish/config.fish`,
    )
    .action((shell: string, _: unknown, self: Command) => {
      const script = scripts[shell];
      if (script !== undefined) printLine(script(programOf(rootOf(self))));
    });
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}
