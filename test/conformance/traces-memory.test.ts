import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeTraces } from './traces.ts';

describeTraces('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())), { steps: 200 });
