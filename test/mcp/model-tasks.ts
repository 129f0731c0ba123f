import { modelWorkTasks } from './model-tasks-of-models.ts';
import { readTasks } from './model-tasks-of-reading.ts';
import { workTasks } from './model-tasks-of-work.ts';
import type { ModelTask } from './model-tasks-types.ts';

export const modelTasks: readonly ModelTask[] = [...readTasks, ...workTasks, ...modelWorkTasks];
