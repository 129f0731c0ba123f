import type { Call, Party } from './characters-world.ts';

/** The container of the one object of a party. */
export const containerOf = ({ workerId }: Party): string => `of-${workerId}`;
export const OBJECT = '2026/report.txt';

/** Gives the party an object that holds its mark. */
export async function furnishObjects(call: Call, party: Party): Promise<void> {
  const path = `/objects/${containerOf(party)}/${OBJECT}`;
  const { status, body } = await call({
    method: 'PUT',
    path,
    headers: { ...party.headers, 'Content-Type': 'text/plain', 'X-Svc-Meta-mark': 'a-mark' },
    body: Buffer.from(party.mark),
  });
  if (status !== 200) throw new Error(`PUT ${path}: ${status} ${body}`);
}
