import { rmSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { copyOfInfra, type Edit, readConfiguration } from './configuration.ts';
import { indexFaults } from './index-check.ts';
import { orderFaults } from './order-check.ts';
import { planted } from './planted.ts';
import { policyFaults } from './policy-check.ts';
import { schemaFaults } from './schema-check.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function faultsWith(...edits: readonly Edit[]): Promise<string> {
  const folder = copyOfInfra(...edits);
  folders.push(folder);
  try {
    const configuration = await readConfiguration(folder);
    return [
      ...schemaFaults(configuration),
      ...policyFaults(configuration),
      ...orderFaults(configuration),
      ...indexFaults(folder),
    ].join('\n');
  } catch (error) {
    return String(error);
  }
}

describe('a defect is found without Terraform', () => {
  test('a copy without a defect has no faults', async () => {
    expect(await faultsWith()).toBe('');
  });

  test.each(planted)('$defect', async ({ edit, node }) => {
    expect(await faultsWith(edit)).toContain(node);
  });
});
