import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { ObjectParts } from '../../objects/parts.ts';

/** No job stages bytes for an object yet. */
const isRunActive = () => Promise.resolve(false);

/** The upkeep of objects: bytes that an object has lost, or never became one, are removed once their time has come. */
export function objectJobs(objects: ObjectParts): JobPlugin {
  return {
    pluginId: 'svc.objects',
    name: 'Objects',
    family: 'object-upkeep',
    statusPath: '/execution/runs',
    handlers: [],
    async maintain({ isOver }) {
      const { sweepObjects } = await import('../../objects/sweep-objects.ts');
      return { removedObjectBytes: await sweepObjects(objects, { isOver, isRunActive }) };
    },
  };
}
