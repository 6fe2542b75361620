/** CPU time and memory of another process, from Linux's `/proc`. */
import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS = 1e6;
const KILOBYTE = 1024;

/** Bytes that a process has in memory. */
export function rssOf(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

/** The most bytes that a process has had in memory. */
export function peakOf(pid: number): number {
  return statusOf(pid, 'VmHWM');
}

/** Milliseconds that the threads of a process have run, not counting ended threads. */
export function cpuOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ran = threads.map((thread) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds);
  });
  return ran.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / NANOSECONDS;
}

function statusOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) * KILOBYTE;
}
