/** Versions and features of the protocol (§10). */
import { VERSION_FORM } from './form.ts';

export const PROTOCOL_VERSION = '1.1.0';

/** The answer to `#VERSION`. */
export const VERSION_REPLY = `v${PROTOCOL_VERSION}`;

type Support = 'full' | 'none';
export interface Compatibility {
  readonly version: string;
  readonly core: Support;
  readonly state: Support;
  readonly coordination: Support;
}

export const COMPATIBILITY: readonly Compatibility[] = [
  { version: '1.0', core: 'full', state: 'full', coordination: 'none' },
  { version: '1.1', core: 'full', state: 'full', coordination: 'full' },
];

/** The version of the protocol that each came with; the document's own three first, in its order. */
export const FEATURES = {
  coordination: '1.1',
  state: '1.0',
  error_codes: '1.0',
  core: '1.0',
  help: '1.0',
  variables: '1.0',
  delegation: '1.0',
  versioning: '1.1',
  checkpoints: '1.1',
  rollback: '1.1',
  context: '1.1',
  dynamic_limits: '1.1',
  health: '1.1',
} as const satisfies Record<string, '1.0' | '1.1'>;

export type Feature = keyof typeof FEATURES;

/** The answer to `#SUPPORTS:<feature>`. */
export const supports = (feature: string): feature is Feature => Object.hasOwn(FEATURES, feature);

/**
 * Whether one who speaks that version is understood here; null where it is not a version. A later minor version has features that
 * this one lacks; another major version is another language; a patch changes nothing.
 */
export function checkVersion(version: string): 'compatible' | 'incompatible' | null {
  const match = VERSION_FORM.exec(version);
  if (match === null) return null;
  const asked = `${Number(match[1])}.${Number(match[2])}`;
  return COMPATIBILITY.some((row) => row.version === asked) ? 'compatible' : 'incompatible';
}

/** What `#VERSION:features` lists: `coordination: v1.1+`. */
export const featureLines = (): string[] => Object.entries(FEATURES).map(([name, since]) => `${name}: v${since}+`);
