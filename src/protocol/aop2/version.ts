/** Version rules of the contract (§1.1): any 2.x is read with the schema we know; unknown fields are forgiven only to those who may know more. */

export const AOP_VERSION = '2.0.2-C';
export const SCHEMA_VERSION = '2.0.2';
export const PROTOCOL_FAMILY = 'AOP';

const OURS = [2, 0, 2] as const;

/** Whether a version is a later 2.x than ours. The letter after the dash names an editor, not an order. */
export function isLater(version: string): boolean {
  const numbers = version.split('-', 1)[0]?.split('.') ?? [];
  for (const [i, ours] of OURS.entries()) {
    const theirs = Number(numbers[i] ?? 0);
    if (Number.isNaN(theirs) || theirs < ours) return false;
    if (theirs > ours) return true;
  }
  return false;
}
