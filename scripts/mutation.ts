/** `npm run mutation -- <room>...` plants small faults in the files of a room, one at a time, and counts those that its tests find. */
import { parseArgs } from 'node:util';
import { rooms } from '../test/mutation/rooms.ts';
import { measure } from './mutation/measure.ts';
import { score } from './mutation/page.ts';

const usage = `npm run mutation -- <room>...   measures these rooms anew, into dist/mutation/<room>.json
npm run mutation -- --list      the rooms, with their files and tests
MUTATION_CONCURRENCY=1 npm run mutation -- <room>   on a busy machine`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean' }, list: { type: 'boolean' } },
});
if (values.list) {
  for (const [room, { files, tests }] of Object.entries(rooms))
    console.log([room, ...files, '  judged by', ...tests].join('\n  '));
} else if (values.help || positionals.length === 0) {
  console.log(usage);
} else {
  for (const room of positionals) {
    const figures = measure(room);
    console.log(figures.survivors.join('\n'));
    console.log(`${room}: ${figures.found} of ${figures.mutants} found, ${score(figures).toFixed(1)} %`);
  }
}
