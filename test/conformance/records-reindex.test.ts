import { describeReindex } from './records-reindex-cases.ts';
import { stores } from './stores/lane.ts';

const efforts = {
  memory: { many: 1_000, few: 120, kills: 14 },
  sqlite: { many: 1_000, few: 60, kills: 10 },
  postgresql: { many: 150, few: 60, kills: 4 },
  mysql: { many: 150, few: 60, kills: 4 },
  firestore: { many: 110, few: 20, kills: 4 },
};

for (const tested of stores) describeReindex(tested, efforts[tested.name]);
