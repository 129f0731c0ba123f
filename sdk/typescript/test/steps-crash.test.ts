import { expect, test } from 'vitest';
import { crashFault, subjects } from './steps-subjects.ts';

/** A worker that dies at any call, before or after the service has done it, changes no result and repeats no keyed effect. */

test.each(subjects)('a crash at each call changes nothing: $title', async (subject) => {
  expect(await crashFault(subject)).toBeNull();
});
