/** `npm run cost`: what a month on Google Cloud costs, from the measured use of each operation (`docs/operating.md`). */
import { estimate } from './cost/estimate.ts';
import { helpText, OptionFault, readOptions } from './cost/options.ts';
import prices from './cost/prices.json' with { type: 'json' };
import { estimateText } from './cost/text.ts';

try {
  const input = readOptions(process.argv.slice(2), prices);
  console.log(output(input));
} catch (error) {
  if (!(error instanceof OptionFault || error instanceof RangeError)) throw error;
  console.error(`${error.message}\n(--help shows the options)`);
  process.exitCode = 2;
}

function output(input: ReturnType<typeof readOptions>): string {
  if (input.output === 'help') return helpText(input.prices);
  if (input.output === 'prices') return JSON.stringify(input.prices, null, 2);
  const found = estimate(input.load, input.machine, input.prices, input.region, input.isFree);
  if (input.output === 'table') return estimateText(found, input);
  const { load, machine, region } = input;
  const { asOf, source } = input.prices;
  return JSON.stringify({ region, prices: { asOf, source }, workload: load, machine, ...found }, null, 2);
}
