import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeProviderJobs } from './provider-jobs.ts';

describeProviderJobs('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())));
