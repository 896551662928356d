/** What work costs the processor, in milliseconds. Not what the clock says, since other programs work on the machine too. */
export function cpuMs(work: () => unknown): number {
  const began = process.cpuUsage();
  work();
  return since(began);
}

export async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await work();
  return since(began);
}

function since(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
