import { rmSync } from 'node:fs';

/**
 * After an installation: the install script of the package `node` leaves a second folder of Node below it, with headers of 67 MB. Its
 * program is a hard link to the one that stays. npm knows nothing of that folder and would remove it with the next installation. This is
 * JavaScript, because an installation without the packages of development runs it on the Node of the machine.
 */
rmSync(new URL('../node_modules/node/node_modules', import.meta.url), { recursive: true, force: true });
