import { describeExtremes } from './extremes.ts';
import { stores } from './stores/lane.ts';

// SQLite is what the others are compared with.
for (const tested of stores.filter(({ name }) => name !== 'sqlite')) describeExtremes(tested);
