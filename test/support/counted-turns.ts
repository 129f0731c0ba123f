import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { Turns } from '../../functions/kernel/turns.ts';

/** Turns that are never due, and count how often long work asks whether they are: its steps. */
export class CountedTurns {
  asked = 0;

  readonly room = new TurnRoom(
    {
      now: () => {
        this.asked += 1;
        return 0;
      },
    },
    () => {},
  );

  readonly turns: Turns = this.room.of('space');
}
