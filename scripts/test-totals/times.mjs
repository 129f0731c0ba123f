// Where the time of a lane went, by file and by folder: what the reporter wrote, as tables.
import { existsSync, readFileSync } from 'node:fs';

/**
 * In milliseconds. `cpu` is the processor time of the file's worker and of the processes that it started.
 * @typedef {{ name: string, startUp: number, import: number, hooks: number, tests: number, cpu: number, count: number }} Times
 * @typedef {Times & { errors: string[] }} FileTimes
 * @typedef {{ lane: string, seed: string, wallMs: number, calibrationMs: number, errors: string[], files: FileTimes[] }} LaneTimes
 */

const SLOWEST = 20;

/** @testonly */
export function timesPath(/** @type {string} */ report) {
  return report.replace(/(\.json)?$/, '-times.json');
}

/** @returns {LaneTimes | undefined} */
export function readTimes(/** @type {string} */ report) {
  const path = timesPath(report);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** `test/<folder>`, `functions/groups/<group>` and `functions/<room>`; elsewhere the first folder. */
function folderOf(/** @type {string} */ path) {
  const parts = path.split('/').slice(0, -1);
  if (parts[0] === 'functions') return parts.slice(0, parts[1] === 'groups' ? 3 : 2).join('/');
  return parts.slice(0, parts[0] === 'test' ? 2 : 1).join('/');
}

/** The sums of each folder. */
export function byFolder(/** @type {FileTimes[]} */ files) {
  /** @type {Map<string, Times>} */
  const folders = new Map();
  for (const file of files) {
    const name = folderOf(file.name);
    const sum = folders.get(name) ?? { name, startUp: 0, import: 0, hooks: 0, tests: 0, cpu: 0, count: 0 };
    for (const part of ['startUp', 'import', 'hooks', 'tests', 'cpu', 'count']) sum[part] += file[part];
    folders.set(name, sum);
  }
  return [...folders.values()];
}

function totalOf(/** @type {Times} */ times) {
  return times.startUp + times.import + times.hooks + times.tests;
}

const columns = (/** @type {string[]} */ cells) => cells.map((cell) => cell.padStart(9)).join('');
const seconds = (/** @type {number} */ ms) => (ms / 1_000).toFixed(1);

/** The slowest row comes first. */
function table(/** @type {Times[]} */ rows) {
  return [
    `${columns(['total', 'start-up', 'import', 'hooks', 'tests', 'cpu'])}  count`,
    ...rows
      .toSorted((left, right) => totalOf(right) - totalOf(left))
      .map((row) => {
        const parts = [totalOf(row), row.startUp, row.import, row.hooks, row.tests, row.cpu].map(seconds);
        return `${columns(parts)}  ${String(row.count).padStart(5)}  ${row.name}`;
      }),
  ];
}

function seedText(/** @type {string} */ seed) {
  return seed === '0' ? 'seed 0: fixed seeds, as written in the files' : `seed ${seed}: TEST_SEED=${seed}`;
}

/** The lines about one lane. */
export function laneLines(/** @type {LaneTimes} */ { lane, seed, wallMs, files }) {
  const ofFiles = table(files);
  const count = files.reduce((sum, file) => sum + file.count, 0);
  const inARow = files.reduce((sum, file) => sum + totalOf(file), 0);
  return [
    '',
    `${lane}: ${seconds(wallMs)} s of wall time; ${count} tests in ${files.length} files, which take ${seconds(inARow)} s one after the other; ${seedText(seed)}`,
    `The ${SLOWEST} slowest files, in seconds:`,
    ...ofFiles.slice(0, SLOWEST + 1),
    'By folder, all its files one after the other, in seconds:',
    ...table(byFolder(files)),
  ];
}
