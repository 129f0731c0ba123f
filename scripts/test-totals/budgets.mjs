// The budgets of the folders, in `test/budgets.json`: by lane, seconds of processor time and the time of the calibration loop
// in the run that they come from. Wall time would show the load of the machine: two workers share it with other programs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byFolder } from './times.mjs';

/**
 * @typedef {import('./times.mjs').LaneTimes} LaneTimes
 * @typedef {Record<string, { calibrationMs: number, folders: Record<string, number> }>} Budgets
 */

/** A folder may take half as much again, and two seconds more than its budget in any case: caches and other programs cost that. */
const FACTOR_MAX = 1.5;
const SLACK_SECONDS = 2;

const pathIn = (/** @type {string} */ root) => join(root, 'test/budgets.json');

/** @returns {Budgets} */
export function readBudgets(/** @type {string} */ root) {
  return JSON.parse(readFileSync(pathIn(root), 'utf8'));
}

/** Each lane of `lanes` gets the figures of its run; the others keep theirs. */
export function writeBudgets(/** @type {string} */ root, /** @type {LaneTimes[]} */ lanes) {
  const budgets = readBudgets(root);
  for (const { lane, calibrationMs, files } of lanes) {
    const folders = byFolder(files).map(({ name, cpu }) => [name, Math.ceil(cpu / 100) / 10]);
    budgets[lane] = {
      calibrationMs: Math.round(calibrationMs * 100) / 100,
      folders: Object.fromEntries(folders.toSorted(([left], [right]) => (left < right ? -1 : 1))),
    };
  }
  writeFileSync(pathIn(root), `${JSON.stringify(budgets, null, 2)}\n`);
}

/** The folders that took too much, in the seconds of the machine on which the budgets were measured. */
export function aboveBudget(/** @type {LaneTimes} */ times, /** @type {Budgets} */ budgets) {
  const budget = budgets[times.lane];
  if (budget === undefined) return [];
  const speed = budget.calibrationMs / times.calibrationMs;
  return byFolder(times.files).flatMap(({ name, cpu }) => {
    const used = (cpu / 1_000) * speed;
    const allowed = budget.folders[name];
    const isAbove = allowed !== undefined && used > Math.max(allowed * FACTOR_MAX, allowed + SLACK_SECONDS);
    return isAbove ? [{ name, used, allowed }] : [];
  });
}

/** Lists the budgets that a run exceeds. */
export function warnings(/** @type {LaneTimes} */ times, /** @type {Budgets} */ budgets) {
  const budget = budgets[times.lane];
  if (budget === undefined) return [`warning: ${times.lane}: no budget in test/budgets.json`];
  const without = byFolder(times.files).filter(({ name }) => budget.folders[name] === undefined);
  return [
    ...aboveBudget(times, budgets).map(
      ({ name, used, allowed }) =>
        `warning: ${times.lane}: ${name} took ${used.toFixed(1)} s of processor time; its budget is ${allowed.toFixed(1)} s`,
    ),
    ...(without.length === 0
      ? []
      : [`warning: ${times.lane}: no budget for ${without.map(({ name }) => name).join(', ')}`]),
  ];
}
