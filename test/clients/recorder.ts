import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands between a client and the service, and notes the revision of each call of a tool: a client need not say it. */
export interface Recorder {
  readonly address: string;
  /** The revisions since the last look. */
  readonly revisions: () => readonly string[];
  readonly close: () => Promise<void>;
}

export async function startRecorder(service: string): Promise<Recorder> {
  const seen = new Set<string>();
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    // A client that goes away ends the request to the service.
    outgoing.on('error', () => undefined);
    bodyOf(incoming).then(
      (body) => {
        // A request without the field is of the first revision that has it.
        if (isCall(body)) seen.add(String(headers['mcp-protocol-version'] ?? '2025-03-26'));
        const forwarded = request(new URL(url, service), { method, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        });
        forwarded.once('error', () => outgoing.destroy());
        outgoing.once('close', () => forwarded.destroy());
        forwarded.end(body);
      },
      () => outgoing.destroy(),
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    revisions() {
      const revisions = [...seen].sort();
      seen.clear();
      return revisions;
    },
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function isCall(body: Buffer): boolean {
  try {
    return (JSON.parse(body.toString()) as { readonly method?: unknown }).method === 'tools/call';
  } catch {
    return false;
  }
}
