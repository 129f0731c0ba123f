import { Command } from 'commander';
import { expect, test } from 'vitest';
import { optionsAt, programOf } from './completion/tree.ts';
import { mcpCommand } from './mcp.ts';
import { outboxCommand } from './outbox.ts';
import { runsCommand } from './runs.ts';

const program = programOf(
  new Command('svc').addCommand(runsCommand()).addCommand(outboxCommand()).addCommand(mcpCommand()),
);

test('runs, outbox and mcp are completed: their subcommands, options and values', () => {
  const words = (path: string) =>
    program.commands.find((command) => command.path === path)?.words.map(({ name }) => name);
  expect(words('svc runs')).toEqual(['list', 'show', 'journal', 'cancel', 'rerun', 'watch', 'help']);
  expect(words('svc outbox')).toEqual(['list', 'replay', 'help']);
  expect(words('svc mcp')).toEqual(['serve', 'install', 'check', 'help']);
  expect(words('svc mcp install')).toEqual([
    'claude-desktop',
    'claude-code',
    'vscode',
    'cursor',
    'codex',
    'chatgpt',
  ]);
  const option = (path: string, name: string) =>
    optionsAt(program, path).find(({ names }) => names.includes(name))?.value;
  expect(option('svc runs list', '--status')).toMatchObject({ words: expect.arrayContaining(['timed_out']) });
  expect(option('svc outbox list', '--state')).toMatchObject({
    words: expect.arrayContaining(['dead-letter']),
  });
  expect(option('svc runs watch', '--server')).toEqual({ kind: 'any' });
  expect(option('svc mcp install', '--file')).toEqual({ kind: 'file' });
  expect(option('svc mcp serve', '--identity-token-file')).toEqual({ kind: 'file' });
  expect(option('svc runs watch', '--base-url')).toBeUndefined();
});
