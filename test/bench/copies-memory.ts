import { readFileSync } from 'node:fs';

/** Memory of a process in megabytes. */
export interface Memory {
  /** The most that was ever resident, pages of mapped files included. */
  readonly peakRssMb: number;
  /** The peak of the process's own memory, sampled every 20 ms; `null` where the system does not report it. */
  readonly peakOwnMb: number | null;
}

const LOOK_MS = 20;

/** Watches a process of this machine from now on. */
export function watchMemory(pid: number | 'self' = 'self'): { stop(): Memory } {
  let peakOwnKb = 0;
  const look = () => {
    peakOwnKb = Math.max(peakOwnKb, statusOf(pid, 'RssAnon') ?? 0);
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      look();
      return { peakRssMb: peakRssOf(pid), peakOwnMb: peakOwnKb === 0 ? null : megabytes(peakOwnKb) };
    },
  };
}

/**
 * The high-water mark of a process of this machine. Linux hands `maxRSS` down from the process that started another, so the
 * child of a large parent would look large; the mark in `/proc` starts again with the program.
 */
export function peakRssOf(pid: number | 'self'): number {
  const kilobytes = statusOf(pid, 'VmHWM');
  if (kilobytes !== null) return megabytes(kilobytes);
  if (pid !== 'self') return Number.NaN;
  return megabytes(process.resourceUsage().maxRSS);
}

/** Processor time of a process of this machine so far; only Linux reports it, in hundredths. */
export function processorSeconds(pid: number): number {
  try {
    // Behind the name, which may hold anything: user and system time are the 12th and 13th number.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

function statusOf(pid: number | 'self', name: string): number | null {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return null;
  }
  const line = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
  return line === undefined ? null : Number(line);
}

function megabytes(kilobytes: number): number {
  return Math.round((kilobytes * 1024) / 1e6);
}
