import { definePlugin, RunFailure } from '../../functions/runs/plugin.ts';

/** The handlers of the kill test: a kill can interrupt each of them at any step, and another process starts it again. */
export default definePlugin({
  pluginId: 'kill',
  name: 'Handlers that are killed',
  version: '1.0.0',
  handlers: [
    { handlerId: 'kill.short', run: ({ payload }) => payload },
    {
      handlerId: 'kill.steps',
      async run(run) {
        const first =
          (await run.readCheckpoint('first')) ??
          (await run.writeCheckpoint('first', { attempt: run.attempt }));
        await run.waitForTimer('pause', new Date(run.payload === null ? 0 : Number(run.payload)));
        await run.putArtifact({ name: 'steps', text: JSON.stringify(first.content) });
        return first.content;
      },
    },
    {
      handlerId: 'kill.event',
      async run(run) {
        const { event } = await run.waitForExternalEvent('go');
        return event === null ? null : event.payload;
      },
    },
    {
      handlerId: 'kill.retry',
      maxAttempts: 3,
      async run(run) {
        if ((await run.readCheckpoint('failed')) !== null) return 'second';
        await run.writeCheckpoint('failed', true);
        throw new RunFailure('transient', 'as the first attempt should');
      },
    },
    {
      handlerId: 'kill.serial',
      concurrencyKey: 'kill-serial',
      async run(run) {
        await run.log('alone');
        return 'done';
      },
    },
  ],
});
