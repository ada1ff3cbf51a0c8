/** Who changes objects when a backup of Kubernetes is put back. */
export const backupName = 'backup';
