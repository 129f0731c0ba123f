import { describeExtremes } from './extremes.ts';
import { stores } from './stores/lane.ts';

// The other databases are compared with SQLite.
for (const tested of stores.filter(({ name }) => name !== 'sqlite')) describeExtremes(tested);
