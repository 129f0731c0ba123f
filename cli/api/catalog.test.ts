import { expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import surface from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { apiOperations, groups, groupTitle } from './catalog.ts';
import { apiCommand } from './command.ts';
import { operationHelp } from './help.ts';

test('every route of the contract can be called, by its own id', () => {
  const routes = Object.values(operations).flatMap((entry) =>
    entry.routes.map(({ operationId }) => operationId),
  );
  expect(apiOperations.map(({ id }) => id)).toEqual(routes);
  expect(new Set(routes).size).toBe(routes.length);
  const commands = apiCommand().commands.map((command) => command.name());
  expect(commands).toEqual(['list', ...routes]);
  // Commands of the tool that an operation of that name would shadow.
  for (const id of routes) expect(['list', 'help']).not.toContain(id);
});

test('the name of a method of the client calls its operation', () => {
  const aliases = apiCommand().commands.flatMap((command) => command.aliases());
  expect(aliases).toEqual(expect.arrayContaining(['health', 'getCanonicalPreflight', 'embedTexts']));
  const names = new Set([...apiOperations.map(({ id }) => id), ...aliases, 'list', 'help']);
  expect(names.size).toBe(apiOperations.length + aliases.length + 2);
  for (const { sdk } of surface.operations) if (sdk !== null) expect(names).toContain(sdk.typescript);
});

test('paths are those of the catalog', () => {
  for (const operation of surface.operations)
    for (const { operationId, path } of operation.routes)
      expect(apiOperations.find(({ id }) => id === operationId)?.pathTemplate).toBe(path.replace('+}', '}'));
});

test('every operation and every parameter is described', () => {
  for (const { id, summary, description, parameters } of apiOperations) {
    expect(summary, id).toMatch(/^[A-Z]/);
    expect(description, id).not.toBe('');
    for (const parameter of parameters)
      expect(parameter.description, `${id} ${parameter.spec.name}`).not.toBe('');
  }
  for (const group of groups) expect(groupTitle(group)).not.toBe(group);
});

test('help tells route, access, parameters and the members of the body', () => {
  const helpOf = (id: string) => {
    const operation = apiOperations.find((each) => each.id === id);
    if (operation === undefined) throw new Error(`there is no ${id}`);
    return operationHelp(operation);
  };
  const commit = helpOf('commitCanonicalTransaction');
  expect(commit).toMatch(/Route +POST \/canonical\/tenants\/\{tenantId\}\/transactions/);
  expect(commit).toMatch(/Access +canonical-policy: write/);
  expect(commit).toMatch(/Repeats +an idempotency key is required/);
  expect(commit).toMatch(/^ {2}tenantId +path +required +string +The tenant/m);
  expect(commit).toMatch(/CanonicalTransactionRequest, application\/json, at most 8,388,608 bytes/);
  expect(commit).toMatch(/^ {2}mutations +CanonicalMutation\[\] +optional/m);
  expect(commit).toMatch(/^ {2}idempotencyKey +\S+ +required/m);
  const read = helpOf('getCanonicalDocument');
  expect(read).toMatch(/^ {2}includeDeleted +query +optional +boolean, else false/m);
  expect(read).not.toContain('Body');
  expect(helpOf('getHealth')).toMatch(/Access +open to everybody/);
  expect(helpOf('acknowledgeCanonicalOutbox')).toMatch(/Answers +204 without a body/);
});
