import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeGraphs } from './graphs.ts';

describeGraphs('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())), 1_000);
