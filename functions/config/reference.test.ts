import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { settingsPage, settingsSchema } from './reference.ts';
import { lines } from './table.ts';

const validate = new Ajv2020({ strict: false }).compile(settingsSchema());

test('the page names every setting with its short names', () => {
  const page = settingsPage();
  for (const { key, kind, variables } of lines) {
    for (const tail of kind.tails) expect(page).toContain(`\`${key}${tail}\``);
    for (const name of variables) expect(page).toContain(`\`${name}\``);
  }
});

test('the schema accepts a whole file', () => {
  const file = {
    $schema: './svcsettings.schema.json',
    Environment: 'Production',
    Server: {
      Port: 1,
      CanonicalAccess: {
        AllowedAudiences: ['https://svc.example'],
        IdentityPolicies: [{ Principal: 'a@x', AllowedTenantIds: ['*'], AllowedOperations: ['read'] }],
      },
      CanonicalRateLimit: { PermitLimit: 5 },
    },
    CanonicalStore: { Provider: 'local-sqlite', Enabled: true },
  };
  expect(validate(file), JSON.stringify(validate.errors)).toBe(true);
});

test.each([
  { Server: { Prot: 1 } },
  { Server: { Port: 65_536 } },
  { Server: { CanonicalAccess: { IdentityPolicies: [{ Principle: 'a@x' }] } } },
  { CanonicalStore: { Provider: 'oracle' } },
])('the schema refuses %o', (file) => {
  expect(validate(file)).toBe(false);
});
