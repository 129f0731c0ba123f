import { describeRecords } from './records.ts';
import { stores } from './stores/lane.ts';

const efforts = {
  memory: { rivals: 20, runs: 60 },
  sqlite: { rivals: 20, runs: 30 },
  postgresql: { rivals: 10, runs: 10 },
  mysql: { rivals: 10, runs: 10 },
  firestore: { rivals: 5, runs: 2 },
};

for (const tested of stores) describeRecords(tested, efforts[tested.name]);
