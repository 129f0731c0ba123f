/** Whether a host name or an IP address is that of this very machine. */
export function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
  );
}
