import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { functionNames } from '../../functions/compose/functions.ts';
import { lines } from '../../functions/config/table.ts';
import { infraFolder, readConfiguration, textsIn } from './configuration.ts';
import { indexFaults } from './index-check.ts';
import { orderFaults } from './order-check.ts';
import { allowedRoles, policyFaults } from './policy-check.ts';
import { schemaFaults } from './schema-check.ts';

const root = join(infraFolder, '..');
const configuration = await readConfiguration(infraFolder);
const { variable: exampleVariables } = await readConfiguration(join(infraFolder, 'environments/example'));

describe('the infrastructure, read without Terraform', () => {
  test('has only arguments, blocks and references that exist', () => {
    expect(schemaFaults(configuration)).toEqual([]);
  });

  test('follows the rules about roles, callers, audiences, ceilings and protection', () => {
    expect(policyFaults(configuration)).toEqual([]);
  });

  test('creates and replaces its parts in an order that Google accepts', () => {
    expect(orderFaults(configuration)).toEqual([]);
  });

  test('has the indexes that the store needs, and no others', () => {
    expect(indexFaults(infraFolder)).toEqual([]);
    expect(configuration.locals['indexes']).toBe(
      '${jsondecode(file("${path.module}/firestore.indexes.json"))}',
    );
  });

  test('allows no role that administers or owns', () => {
    const broad = Object.keys(allowedRoles).filter((role) =>
      /^roles\/(owner|editor|viewer)$|admin|owner|developer/i.test(role),
    );
    expect(broad).toEqual([]);
  });

  test('grants each allowed role', () => {
    const granted = textsIn(configuration.resource).flatMap(({ text }) => text.match(/roles\/[\w.]+/g) ?? []);
    expect([...new Set(granted)].sort()).toEqual(Object.keys(allowedRoles).sort());
  });

  test('the example follows its region and keeps no instance at rest', () => {
    const text = readFileSync(join(infraFolder, 'environments/example/main.tf'), 'utf8').replace(/#.*/g, '');
    expect(text).toMatch(/database += \{ location = var\.firestore_location \}/);
    expect(text).not.toContain('min_instances');
    const { firestore_location: location } = exampleVariables;
    expect(location).toMatchObject([{ default: null }]);
  });

  test('names only settings that the service knows', () => {
    const { environment, route_environment: routes, key_file: keyFile } = configuration.locals;
    const text = `${Object.keys(environment as object).join(' ')} ${String(routes)} ${String(keyFile)}`;
    const names = text.match(/[A-Za-z]+__[A-Za-z_]+(?=[$\w ]|__\$|$)/g) ?? [];
    const known = lines.map(({ key }) => key.replaceAll(':', '__'));
    for (const name of names) {
      const bare = name.replace(/_+$/, '');
      expect(
        known.some((key) => key === bare || bare.startsWith(`${key}__`)),
        bare,
      ).toBe(true);
    }
    expect(names.length).toBeGreaterThan(10);
  });

  test('counts log lines that the service writes', () => {
    const sources = globSync('functions/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).map((path) =>
      readFileSync(join(root, path), 'utf8'),
    );
    const counted = Object.values(configuration.locals['counted_lines'] as Readonly<Record<string, string>>);
    const waited = 'An outbox event waited long for its consumer';
    expect(JSON.stringify(configuration.resource['google_logging_metric'])).toContain(waited);
    for (const message of [...counted, waited]) {
      const text = functionNames.reduce(
        (all, name) => all.replace(`function ${name} is`, 'function ${name} is'),
        message,
      );
      expect(
        sources.some((source) => source.includes(text)),
        message,
      ).toBe(true);
    }
  });

  test('describes every variable and output', () => {
    const blocks = Object.entries({ ...configuration.variable, ...configuration.output });
    expect(blocks.filter(([, [block]]) => block?.['description'] === undefined)).toEqual([]);
    const page = readFileSync(join(root, 'docs/infrastructure.md'), 'utf8');
    for (const [name] of blocks) expect(page, name).toContain(`\`${name}\``);
  });
});
