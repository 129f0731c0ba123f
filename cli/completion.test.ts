import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { apiOperations } from './api/catalog.ts';
import { apiCommand } from './api/command.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { programOf, quoted } from './completion/tree.ts';
import { zshScript } from './completion/zsh.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';

const program = programOf(
  new Command('svc')
    .option('--verbose', "tells what's done: all of it")
    .addCommand(apiCommand())
    .addCommand(doctorCommand())
    .addCommand(completionCommand()),
);

const folder = mkdtempSync(join(tmpdir(), 'svc-completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ['svc.json', 'other file.json']) writeFileSync(join(folder, name), '');
mkdirSync(join(folder, 'sub'));
const scripts = { bash: bashScript(program), zsh: zshScript(program), fish: fishScript(program) };
for (const [shell, script] of Object.entries(scripts)) writeFileSync(join(folder, `script.${shell}`), script);

/** Splits a line into words as bash does: also at `=`, `:` and `@`. The last word is the one to complete. */
function bash(...words: string[]): string[] {
  const text = `
    source script.bash
    COMP_WORDS=(${words.map(quoted).join(' ')}); COMP_CWORD=${words.length - 1}
    _svc
    printf '%s\\0' "\${COMPREPLY[@]}"`;
  const offered = execFileSync('bash', ['--norc', '-c', text], { cwd: folder, encoding: 'utf8' });
  return offered.split('\0').filter(Boolean).sort();
}

/** All completions of fish for the line, without descriptions. */
function fish(line: string): string[] {
  const text = `source script.fish; complete -C ${quoted(line)}`;
  const offered = execFileSync('fish', ['--no-config', '-c', text], { cwd: folder, encoding: 'utf8' });
  return sortedLines(offered.replace(/\t.*$/gm, ''));
}

/** The line after a person pressed the key, in a zsh with a terminal. */
function zsh(line: string): string {
  const text = `
    zmodload zsh/zpty
    zpty shell 'TERM=dumb zsh -f -i'
    # The answer to each line is waited for by its end, which the echo of the line itself does not hold.
    say() { zpty -w shell "$1; print -r -- end''-of-it"; zpty -r shell REPLY '*end-of-it*'; }
    say 'unsetopt zle_bracketed_paste; PS1=; autoload -U compinit; compinit -u -D; source script.zsh'
    say 'svc() { print -r -- "got" "<"''$^@''">" }; setopt rc_expand_param'
    zpty -w -n shell ${quoted(`${line}\t`)}
    say ''
    print -r -- $REPLY`;
  const { stdout } = spawnSync('zsh', ['-f', '-c', text], { cwd: folder, encoding: 'utf8', timeout: 30_000 });
  return stdout;
}

function sortedLines(text: string): string[] {
  return text.split('\n').filter(Boolean).sort();
}

const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;
const ids = apiOperations.map(({ id }) => id);

describe('bash', () => {
  test('accepts the script, and runs it, without a word', () => {
    const run = spawnSync('bash', ['--norc', '-u', '-c', 'source script.bash'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('completes commands and operation ids', () => {
    expect(bash('svc', '')).toEqual(['api', 'completion', 'doctor', 'help']);
    expect(bash('svc', 'd')).toEqual(['doctor']);
    expect(bash('svc', 'api', '')).toEqual([...ids, 'list'].sort());
    expect(bash('svc', 'api', 'listC')).toEqual(ids.filter((id) => id.startsWith('listC')).sort());
    expect(bash('svc', '--verbose', 'api', '--server', 'http', ':', '//list', 'getH')).toEqual(['getHealth']);
    expect(bash('svc', 'api', '--server', '=', 'list', 'getH')).toEqual(['getHealth']);
    expect(bash('svc', 'nothing', 'getH')).toEqual([]);
  });

  test('completes the options of a command and of those above it', () => {
    expect(bash('svc', 'api', 'getHealth', '--o')).toEqual(['--out', '--output']);
    expect(bash('svc', 'api', 'getHealth', '--ver')).toEqual(['--verbose']);
    expect(bash('svc', 'api', 'getHealth', '--api')).toEqual([
      '--api-key',
      '--api-key-file',
      '--api-key-header',
    ]);
    expect(bash('svc', 'doctor', '--api')).toEqual([]);
    expect(bash('svc', 'api', 'getHealth', '--param')).toEqual([]);
  });

  test('completes values: choices, names of parameters, files, and nothing where anything may stand', () => {
    expect(bash('svc', 'doctor', '--for', '')).toEqual(['embedded', 'functions']);
    expect(bash('svc', 'doctor', '--output', '=', 'j')).toEqual(['json']);
    expect(bash('svc', 'doctor', '--output', '=')).toEqual(['json', 'table']);
    expect(bash('svc', 'completion', '')).toEqual(['bash', 'fish', 'zsh']);
    expect(bash('svc', 'api', 'renewCanonicalOutboxLease', '--param', '')).toEqual(['eventId=', 'tenantId=']);
    expect(
      bash('svc', 'api', 'getCanonicalDocument', '--param', 'tenantId', '=', 'a', '--param', 'inc'),
    ).toEqual(['includeDeleted=']);
    expect(bash('svc', 'api', 'getHealth', '--out', 's')).toEqual(
      ['sub', 'svc.json'].concat('script.bash', 'script.fish', 'script.zsh').sort(),
    );
    expect(bash('svc', 'api', 'getHealth', '--out', 'o')).toEqual(['other file.json']);
    expect(bash('svc', 'api', 'queryCanonicalDocuments', '--body', '@', 'o')).toEqual(['@other file.json']);
    expect(bash('svc', 'api', 'queryCanonicalDocuments', '--body', '=@', 'o')).toEqual(['@other file.json']);
    expect(bash('svc', 'api', 'queryCanonicalDocuments', '--body', '@')).toContain('@svc.json');
    expect(bash('svc', 'api', 'queryCanonicalDocuments', '--body', '')).toEqual([]);
    expect(bash('svc', 'api', 'getHealth', '--api-key', '')).toEqual([]);
  });
});

describe.skipIf(!has('fish'))('fish (left out where there is none)', () => {
  test('accepts the script without a word', () => {
    const run = spawnSync('fish', ['--no-config', '-c', 'source script.fish'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('completes commands, operation ids, options and values', () => {
    expect(fish('svc ')).toEqual(['api', 'completion', 'doctor', 'help']);
    expect(fish('svc api ')).toEqual([...ids, 'list'].sort());
    expect(fish('svc --verbose api --api-key list getH')).toEqual(['getHealth']);
    expect(fish('svc api getHealth --o')).toEqual(['--out', '--output']);
    expect(fish('svc api getHealth --ver')).toEqual(['--verbose']);
    expect(fish('svc doctor --api')).toEqual([]);
    expect(fish('svc doctor --for ')).toEqual(['embedded', 'functions']);
    expect(fish('svc doctor --output=j')).toEqual(['--output=json']);
    expect(fish('svc completion ')).toEqual(['bash', 'fish', 'zsh']);
    expect(fish('svc api renewCanonicalOutboxLease --param ')).toEqual(['eventId=', 'tenantId=']);
    expect(fish('svc api getHealth --out o')).toEqual(['other file.json']);
    expect(fish('svc api queryCanonicalDocuments --body @o')).toEqual(['@other file.json']);
    expect(fish('svc api getHealth --api-key ')).toEqual([]);
  });
});

describe.skipIf(!has('zsh'))('zsh (left out where there is none)', () => {
  test('accepts the script', () => {
    const text = 'autoload -U compinit; compinit -u -D; source script.zsh';
    const run = spawnSync('zsh', ['-f', '-c', text], { cwd: folder, encoding: 'utf8' });
    expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test.each([
    ['svc doc', ['doctor']],
    ['svc api commitC', ['api', 'commitCanonicalTransaction']],
    ['svc --verbose api --api-key list getH', ['--verbose', 'api', '--api-key', 'list', 'getHealth']],
    ['svc api getHealth --verb', ['api', 'getHealth', '--verbose']],
    ['svc doctor --for em', ['doctor', '--for', 'embedded']],
    ['svc doctor --output=j', ['doctor', '--output=json']],
    ['svc completion z', ['completion', 'zsh']],
    [
      'svc api renewCanonicalOutboxLease --param ten',
      ['api', 'renewCanonicalOutboxLease', '--param', 'tenantId='],
    ],
    ['svc api getHealth --out o', ['api', 'getHealth', '--out', 'other file.json']],
    [
      'svc api queryCanonicalDocuments --body @o',
      ['api', 'queryCanonicalDocuments', '--body', '@other file.json'],
    ],
  ])('completes %s', (line, words) => {
    expect(zsh(line)).toContain(`got ${words.map((word) => `<${word}>`).join(' ')}`);
  });
});

test('an option takes a value everywhere or nowhere, as the scripts believe', () => {
  const flags = program.commands.flatMap(({ options }) =>
    options.filter(({ value }) => value === null).flatMap(({ names }) => names),
  );
  expect(flags.filter((name) => program.valued.includes(name))).toEqual([]);
});
