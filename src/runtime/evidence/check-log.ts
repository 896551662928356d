/** Where the output of a task's own check is kept, in its run's folder. */
export const checkLog = (name: string): string => `check-${name}.log`;
