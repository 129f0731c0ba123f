/** The file that binds the files of a backup. */
export const BACKUP_MANIFEST = 'manifest.json';
