/**
 * The server as a child of `svc dev`. It stops as if it had got a signal when that process is gone, so that none is left behind
 * on the port.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

await import('../../functions/embedded-server.ts');
