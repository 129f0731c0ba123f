import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeWholeScenario } from './whole-scenario.ts';

describeWholeScenario('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())));
