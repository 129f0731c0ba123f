import { expect, test } from 'vitest';
import contract from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { instructions } from '../../functions/mcp/service/instructions.ts';
import { type Listing, listingFindings } from './listing.ts';

const ofExposure = (isResource: boolean): readonly unknown[] =>
  contract.definitions
    .filter(({ exposure }) => (exposure === 'resource') === isResource)
    .map(({ definition }) => definition);
const whole: Listing = { instructions, tools: ofExposure(false), resources: ofExposure(true) };
const [first] = whole.tools as readonly object[];

function nested(levels: number): object {
  let value = {};
  for (let level = 0; level < levels; level += 1) value = { properties: value };
  return value;
}

test('the listing of this release has no fault', () => {
  expect(listingFindings(whole).filter(({ ok }) => !ok)).toEqual([]);
});

test.each<[fault: string, checks: readonly string[], Partial<Listing>]>([
  ['a tool without a schema', ['tools/list'], { tools: [{ ...first, inputSchema: undefined }] }],
  ['a null item', ['tools/list'], { tools: [...whole.tools, null] }],
  ['a deep definition', ['tools/list'], { tools: [{ ...first, inputSchema: nested(20_000) }] }],
  ['a resource without an address', ['resources/list'], { resources: [{ name: 'a' }] }],
  ['no tool', ['tools/list'], { tools: [] }],
  ['no instructions', ['hashes'], { instructions: undefined }],
  ['other instructions', ['hashes'], { instructions: `${instructions} More.` }],
  ['instructions that steer', ['texts', 'hashes'], { instructions: 'You must call one tool.' }],
])('%s is a finding', (_, checks, changed) => {
  const faults = listingFindings({ ...whole, ...changed }).filter(({ ok }) => !ok);
  expect(faults.map(({ check }) => check)).toEqual(checks);
});
