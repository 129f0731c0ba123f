import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeRetrieval } from './retrieval.ts';

describeRetrieval('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())));
