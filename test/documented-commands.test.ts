import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { estimate } from '../scripts/cost/estimate.ts';
import { readOptions } from '../scripts/cost/options.ts';
import prices from '../scripts/cost/prices.json' with { type: 'json' };
import { money } from '../scripts/cost/text.ts';
import { commandsOf, faultOf, mentionsOf, readCompletion } from './documented-commands.ts';

/** Every command on a page is checked against the completion script of the real tool. */

const args = ['cli/main.ts', 'completion', 'fish'];
const tool = readCompletion(execFileSync(process.execPath, args, { encoding: 'utf8' }));
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')].filter(
  (page) => !page.includes('reference/'),
);
const operating = readFileSync('docs/operating.md', 'utf8');

/** A form such as `runs list|show` names several commands, and is no shell command. */
const isForm = (words: readonly string[]) =>
  words.some((word) => /^<|^\[|…$/.test(word)) || words[0] === '<command>';

const faultsOf = (commands: readonly (readonly string[])[]) =>
  commands
    .filter((words) => words.length > 0 && !isForm(words))
    .map((words) => [words.join(' '), faultOf(words, tool)] as const)
    .filter(([, fault]) => fault !== null);

test.each(pages)('%s shows commands that the tool has', (page) => {
  const text = readFileSync(page, 'utf8');
  expect(faultsOf(commandsOf(text))).toEqual([]);
  const isShort = (fault: string | null) => fault?.endsWith(' needs a value') === true;
  expect(faultsOf(mentionsOf(text)).filter(([, fault]) => !isShort(fault))).toEqual([]);
});

describe('docs/operating.md', () => {
  test('has commands for each symptom', () => {
    const recipes = operating.split('## Recipes by symptom')[1]?.split('\n## ')[0] ?? '';
    for (const recipe of recipes.split('\n### ').slice(1)) {
      expect(commandsOf(recipe).length, recipe.split('\n')[0]).toBeGreaterThan(0);
    }
    expect(commandsOf(recipes).length).toBeGreaterThan(30);
  });

  test('sends bodies that are JSON', () => {
    const bodies = commandsOf(operating).flatMap(
      (words) => words.slice(words.indexOf('--body') + 1)[0] ?? [],
    );
    for (const body of bodies.filter((text) => text.startsWith('{')))
      expect(() => JSON.parse(body)).not.toThrow();
  });

  test('quotes log lines that the service writes', () => {
    const lines = [...operating.matchAll(/^\| `([^`]+)` \| (?:ERROR|WARNING) \|/gm)].map(
      ([, line = '']) => line,
    );
    expect(lines.length).toBeGreaterThan(8);
    const sources = globSync('functions/**/*.ts', { exclude: ['functions/**/*.test.ts'] });
    const code = sources.map((path) => readFileSync(path, 'utf8')).join('\n');
    for (const line of lines) expect(code).toContain(line);
  });

  test('names settings and operations that exist', () => {
    const settings = readFileSync('docs/reference/settings.md', 'utf8');
    const names = operating.matchAll(
      /`((?:Server|ExecutionRuntime|CanonicalStore|HostedWorker|Docs)(?::\w+)+)`/g,
    );
    for (const [, name = ''] of names) expect(settings).toContain(name);
  });

  test('shows calculations that the calculator accepts, with its results', () => {
    const lines = [...operating.matchAll(/^ {4}npm run -s (\S+)(?: -- (.*))?$/gm)];
    expect(lines.length).toBeGreaterThan(2);
    for (const [, script = '', options = ''] of lines) {
      expect(packageJson.scripts).toHaveProperty(script);
      expect(() =>
        readOptions(
          options.split(' ').filter((word) => word !== ''),
          prices,
        ),
      ).not.toThrow();
    }
    const { load, machine, region } = readOptions(['--no-free-tier'], prices);
    const { lines: costs } = estimate(load, machine, prices, region, false);
    const dollars = (...names: readonly string[]) =>
      money(costs.filter(({ name }) => names.includes(name)).reduce((sum, line) => sum + line.dollars, 0));
    const events = dollars('event leases, ten at once', 'event acknowledgements');
    const table = operating
      .split('| A million |')[1]
      ?.split('\n')
      .slice(2, 6)
      .map((row) => row.split(' | ')[1]);
    const figures = [dollars('commits'), events, dollars('document reads'), dollars('runs with a key')];
    expect(table).toEqual(figures);
  });
});

describe('the check itself', () => {
  const fault = (command: string) => faultOf(mentionsOf(`\`svc ${command}\``)[0] ?? [], tool);

  test.each([
    ['runs lost', 'svc runs has no command lost'],
    ['run list', 'svc has no command run'],
    ['api getNothing', 'svc api has no command getNothing'],
    ['runs list --stat failed', 'svc runs list has no option --stat'],
    ['runs list --status gone', '--status does not take gone'],
    ['outbox replay --dead-letters=all', '--dead-letters takes no value'],
    ['runs list --limit', '--limit needs a value'],
  ])('finds the fault of svc %s', (command, expected) => {
    expect(fault(command)).toBe(expected);
  });

  test.each([
    'runs show 1 --history',
    'outbox list --tenant acme --state dead-letter',
    "api getHealth --server 'http://a b'",
    'doctor --Server:Port=8080',
  ])('accepts svc %s', (command) => {
    expect(fault(command)).toBeNull();
  });

  test('reads pipes, quotes, redirections, continued lines and comments', () => {
    const script = [
      '```sh',
      "svc runs list --output json | jq -r '.[] | .id' | xargs -n1 svc runs cancel # all of them",
      'svc outbox list \\',
      '  --tenant acme > a.txt && svc doctor',
      'hash="$(svc-none | x)"',
      '```',
    ].join('\n');
    expect(commandsOf(script)).toEqual([
      ['runs', 'list', '--output', 'json'],
      ['runs', 'cancel'],
      ['outbox', 'list', '--tenant', 'acme'],
      ['doctor'],
    ]);
  });
});
