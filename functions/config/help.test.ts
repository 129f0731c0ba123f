import { expect, test } from 'vitest';
import { settingsHelp } from './help.ts';
import { lines } from './table.ts';

test('help names every setting with its short names and default', () => {
  const text = settingsHelp({ environment: 'Development', host: 'embedded' });
  for (const line of lines) expect(text).toContain(line.key);
  expect(text).toContain('Server:Port  (PORT, --port)');
  expect(text).toContain('Default: 5220');
  expect(text).toContain('Server:CanonicalAccess:IdentityPolicies:<n>:AllowedTenantIds:<n>');
});

test('no two settings share a name', () => {
  const spaces = [
    lines.map((line) => line.key),
    lines.flatMap((line) => line.variables),
    lines.flatMap((line) => (line.option === undefined ? [] : [line.option])),
  ];
  for (const names of spaces) {
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  }
});
