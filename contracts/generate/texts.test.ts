import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json } from './schema.ts';
import { changedBeyondTexts, differenceOf, withoutTexts } from './texts.ts';

const model = {
  title: 'Models of parcels',
  $defs: {
    Parcel: {
      description: 'A parcel.',
      type: 'object',
      properties: {
        description: { description: 'Label of the parcel.', type: 'string', maxLength: 64 },
        default: { description: 'Whether the depot is the default.', type: 'boolean', default: true },
        properties: { description: 'Further members.', type: 'object' },
      },
      required: ['description'],
      examples: [{ description: 'a box', default: false }],
    },
  },
};
const problem = {
  code: 'not_found',
  title: 'Not found',
  description: 'No such parcel.',
  whoActs: 'The caller.',
};
const tools = {
  contentVersion: 'd738134ce87fbf67',
  definitions: [
    { name: 'getParcel', title: 'Read a parcel', inputSchema: { properties: { title: { title: 'x' } } } },
    { uri: 'svc://depots/v1', title: 'List depots', mimeType: 'application/json' },
  ],
};
const before = new Map<string, Json>([
  ['model', model],
  ['tools', tools],
  ['problem', problem],
]);

/** `before`, with one part of its JSON text replaced. */
function edited(path: string, part: string, by: string): Map<string, Json> {
  const text = JSON.stringify(before.get(path));
  expect(text).toContain(part);
  return new Map(before).set(path, JSON.parse(text.replace(part, by)) as Json);
}

describe('a contract without its texts', () => {
  it.each([
    ['the description of a model', 'model', 'A parcel.', 'One parcel.'],
    ['of a member', 'model', 'Label of the parcel.', 'Its label.'],
    ['of a member with the name of a keyword', 'model', 'Whether the depot is the default.', 'x'],
    ['of a member called properties', 'model', 'Further members.', 'More.'],
    ['the title of a file of models', 'model', 'Models of parcels', 'Parcels'],
    ['the description of a problem', 'problem', 'No such parcel.', 'Absent.'],
    ['the title of a tool', 'tools', 'Read a parcel', 'Get a parcel'],
    ['the title of a resource', 'tools', 'List depots', 'Depots'],
    ['the hash of the texts', 'tools', 'd738134ce87fbf67', '6369e83e3a216d82'],
    ['who acts on a problem', 'problem', 'The caller.', 'The operator.'],
  ])('stays the same after a change of %s', (_, path, part, by) => {
    expect(changedBeyondTexts(before, edited(path, part, by))).toEqual([]);
    expect(differenceOf(before, edited(path, part, by))).toBe('texts');
  });

  it.each([
    ['a bound', 'model', '"maxLength":64', '"maxLength":65'],
    ['a default', 'model', '"default":true', '"default":false'],
    ['the name of a member', 'model', '"description":{', '"label":{'],
    ['a required member', 'model', '["description"]', '[]'],
    ['an example', 'model', 'a box', 'a crate'],
    ['the name of a tool', 'tools', 'getParcel', 'readParcel'],
    ['a title in the schema of a tool', 'tools', '"title":"x"', '"title":"y"'],
    ['the title of a problem, which answers hold', 'problem', 'Not found', 'Absent'],
    ['the order of members', 'problem', '"code":"not_found","title":"Not found"', '"title":"","code":""'],
  ])('differs after a change of %s', (_, path, part, by) => {
    expect(changedBeyondTexts(before, edited(path, part, by))).toEqual([path]);
    expect(differenceOf(before, edited(path, part, by))).toEqual([path]);
  });

  it('is the same without a change', () => {
    expect(differenceOf(before, structuredClone(before))).toBe('none');
  });

  it('differs if a file is added or removed', () => {
    const more = new Map(before).set('more', {});
    expect(changedBeyondTexts(before, more)).toEqual(['more']);
    expect(changedBeyondTexts(more, before)).toEqual(['more']);
  });

  it('holds no text of the catalog', () => {
    const catalog = JSON.parse(readFileSync('contracts/public-sdk-surface.json', 'utf8')) as Json;
    expect(JSON.stringify(withoutTexts(catalog))).not.toMatch(/"(description|summary)":"/u);
  });
});
