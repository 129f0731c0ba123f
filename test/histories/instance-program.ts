import { LocalInstance } from './instance.ts';
import { openDatabase } from './open-database.ts';
import type { Answer, Database, Question } from './process-instance.ts';

/** A process of its own: opens the store that its argument names, and answers calls until the other end closes. */

async function answer(instance: LocalInstance, { number, request }: Question): Promise<Answer> {
  try {
    const outcome = await instance.call(request);
    if (outcome.kind !== 'refused') return { number, outcome };
    // An error cannot be sent between processes, so its message is sent.
    const { code, message, extensions } = outcome.error;
    return { number, refusal: { code, message, extensions } };
  } catch (error) {
    return { number, fault: error instanceof Error ? `${error.stack}` : String(error) };
  }
}

const database = JSON.parse(process.argv[2] ?? '') as Database;
const instance = new LocalInstance(await openDatabase(database));
process.on('message', (question: Question) => {
  void answer(instance, question).then((reply) => process.connected && process.send?.(reply));
});
process.on('disconnect', () => {
  void instance.close().then(() => process.exit());
});
process.send?.('ready');
