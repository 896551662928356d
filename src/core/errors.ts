/**
 * Every code that Baton can say, in one table. `docs/errors.md` lists the same codes, and a test holds the two together.
 *
 * Expected refusals and findings are returned as values (`Problem`); `BatonError` is for the edge, where a command has to stop.
 */

/** How the process ends: 0 it worked, 1 the work or the input is bad, 2 wrong usage, 3 refused, 4 no such thing. */
export type ExitCode = 1 | 2 | 3 | 4;

export interface ErrorEntry {
  /** What it means, in one sentence without its period. */
  readonly meaning: string;
  /** Whether the same attempt may work later without a change by anybody. */
  readonly retryable: boolean;
  readonly http: number;
  readonly exit: ExitCode;
  readonly traits: readonly Trait[];
}

/**
 * What becomes of a task whose run failed with it. `permanent`: trying again would fail again, until a person does something.
 * `costly`: nothing is wrong with the task or its agent, but the same once more would only cost the same once more. `critical`: what
 * CRITICAL_ERROR and `stopOnCritical` mean.
 */
type Trait = 'retryable' | 'permanent' | 'costly' | 'critical';

const entry = (meaning: string, http: number, exit: ExitCode, ...traits: readonly Trait[]): ErrorEntry => ({
  meaning,
  retryable: traits.includes('retryable'),
  http,
  exit,
  traits,
});

export const ERRORS = {
  // The contract's taxonomy (aop2 §12).
  E_TIMEOUT: entry('the task exceeded its timeout', 504, 1, 'retryable'),
  E_HEARTBEAT_FAILURE: entry(
    'the agent missed as many heartbeats as its policy allows',
    504,
    1,
    'retryable',
    'critical',
  ),
  E_PARSE_FAILURE: entry('the text could not be read as a message of any dialect', 400, 1),
  E_SCHEMA_VALIDATION: entry('a message was read but does not fit its schema', 422, 1),
  E_AGENT_NOT_FOUND: entry('the agent is missing or cannot be reached', 404, 4, 'permanent', 'critical'),
  E_MODEL_UNAVAILABLE: entry('the requested model is not available', 503, 1, 'permanent', 'critical'),
  E_ALL_MODELS_EXHAUSTED: entry('the model and all its alternatives failed', 503, 1),
  E_FILE_NOT_FOUND: entry('a file that is needed is not there', 404, 4),
  E_PERMISSION_DENIED: entry(
    'the file system or the network access was not permitted',
    403,
    3,
    'permanent',
    'critical',
  ),
  E_CONTEXT_OVERFLOW: entry('a hard size limit was exceeded', 413, 1),
  E_PAYLOAD_SIZE_WARNING: entry('a soft size limit was exceeded', 200, 1),
  E_MALFORMED_RESPONSE: entry('a RESPONSE does not fit its schema', 422, 1),
  E_DEPENDENCY_FAILED: entry('a task that this one depends on failed or was cancelled', 424, 1),
  E_MAX_DEPTH_EXCEEDED: entry('the delegation goes deeper than is allowed', 409, 3),
  E_PROCESS_CRASH: entry("the agent's process crashed or ended with a non-zero code", 502, 1, 'retryable', 'critical'),
  E_COST_LIMIT_EXCEEDED: entry('a budget of dollars or tokens was exceeded', 402, 3, 'costly'),
  E_ROLLBACK_FAILED: entry('a rollback could not be completed', 500, 1),
  E_UNKNOWN: entry('something else went wrong', 500, 1),
  // The session language (shared agent protocol §7).
  E001: entry('unknown command', 400, 3),
  E002: entry('invalid parameters', 400, 3),
  E003: entry('state limit exceeded', 409, 3),
  E004: entry('token limit exceeded', 413, 3),
  E005: entry('permission denied', 403, 3),
  // Baton's own.
  E_FIELD_MISSING: entry('something the document asks for is not there; the message is read without it', 200, 1),
  E_FIELD_UNKNOWN: entry(
    'a field is not known to this version; it is kept, or kept out of the model, as the dialect says',
    200,
    1,
  ),
  E_FIELD_FORM: entry('a value is readable but not of the form the document shows', 200, 1),
  E_UNKNOWN_TYPE: entry('the message is of a type that this version does not know', 400, 1),
  E_UNREGISTERED_TYPE: entry('the node type is not in the registry', 200, 1),
  E_UNVERIFIED: entry("no check of Baton's has proven the work, and config.yaml asks for a person then", 409, 3),
  E_CHECK_CHANGED: entry('the run changed files that its own checks run, so these checks prove nothing', 409, 3),
  E_NO_CHANGE: entry('the agent says that it changed files, and the run changed none', 409, 3),
  E_EVIDENCE_MISSING: entry('a node claims something but has neither data nor a source', 200, 1),
  E_CHECKLIST: entry('a summary holds what the output protocol keeps out of it', 200, 1),
  E_CUT_OFF: entry('a report that was cut off follows a complete one; the complete one counts', 200, 1),
  E_INVALID_UTF8: entry('the bytes are not valid UTF-8; what could not be read was replaced', 200, 1),
  E_NOT_CONVERTIBLE: entry('the text holds nothing that can be said in the dialect asked for', 422, 1),
  E_ILLEGAL_MOVE: entry('the task cannot take that status from the one it has', 409, 3),
  E_CYCLE: entry('tasks would wait for each other, or nodes come from each other, in a circle', 409, 3),
  E_DUPLICATE: entry('there is one of that name already', 409, 3),
  E_NOT_LOADABLE: entry('the node does not have what the next stage needs, or is not to be built upon', 409, 3),
  E_ANSWERED: entry('the question has been answered already', 409, 3),
  E_NOT_CLAIMABLE: entry('the task is not free, not due, or not for this agent', 409, 3, 'retryable'),
  E_NOTHING_READY: entry('no task is ready for this agent', 404, 4, 'retryable'),
  E_STALE_RUN: entry('the run is not the current one of its task', 409, 3),
  E_RUN_ALIVE: entry('the run still gives signs of life', 409, 3, 'retryable'),
  E_RUN_EXPIRED: entry('the run went silent and left no result', 504, 1, 'retryable'),
  E_MOVED: entry('the task was put there by hand', 200, 1),
  E_BLOCKED: entry('the agent says that it cannot go on', 200, 1),
  E_EVIDENCE: entry('what the runtime saw does not bear out what the agent claims', 422, 1),
  E_MERGE_CONFLICT: entry('the work and its branch changed the same lines', 409, 3),
  E_MERGE_WAITS: entry(
    'the work is accepted, and something in a checkout of its branch is in the way of the merge',
    409,
    3,
    'retryable',
  ),
  E_MERGE_REFUSED: entry('the work is accepted and cannot be merged by itself', 409, 3),
  E_HELD_BACK: entry('what the run handed on is held back until a person approves the task', 409, 3),
  E_MERGING: entry('the work of the task is being merged', 409, 3, 'retryable'),
  E_UNPROVEN: entry('no check has proven the work, so a person has to say that it is merged', 409, 3),
  E_CREDENTIALS: entry("the agent's credentials are missing or not accepted", 401, 3, 'permanent'),
  E_STORE_FULL: entry('there is no space left for the data folder', 507, 1, 'retryable'),
  E_STORE_UNWRITABLE: entry('the data folder, or something in it, may not be written', 403, 3, 'retryable'),
  E_STORE_FORM: entry('something in the data folder is not what it should be', 409, 1),
  E_STORE_VERSION: entry('the data folder was made by a newer Baton', 409, 3),
  E_STORE_DAMAGED: entry('records that were acknowledged have been changed or are gone', 500, 1),
  E_STORE_FAILED: entry('the disk failed; nothing of the request was kept', 500, 1, 'retryable'),
  E_OPEN_FILES: entry('the system lets this process open no more files', 503, 1, 'retryable'),
  E_STORE_OWNED: entry('the data folder is in use by a process that cannot be reached from here', 503, 3, 'retryable'),
  E_OWNER_VERSION: entry('the data folder is in use by a baton that speaks another version', 409, 3),
  E_CONFIG: entry('config.yaml is not readable, or holds what is not known', 400, 1),
  E_USAGE: entry('the command line is wrong', 400, 2),
  E_NOT_FOUND: entry('there is no such thing', 404, 4),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

export const hasTrait = (code: string, trait: Trait): boolean =>
  isErrorCode(code) && (ERRORS[code] as ErrorEntry).traits.includes(trait);

/** The codes that the session language has for all that goes wrong there. */
export type SessionErrorCode = Extract<ErrorCode, `E0${string}`>;
export const isSessionErrorCode = (code: string): code is SessionErrorCode =>
  code.startsWith('E0') && isErrorCode(code);

/** What stops a command: a code of the table, a sentence that says what was expected and what came, and what to do next. */
export class BatonError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | null;

  constructor(code: ErrorCode, message: string, hint: string | null = null) {
    super(message);
    this.name = 'BatonError';
    this.code = code;
    this.hint = hint;
  }
}

/** What went wrong, in the words of whatever was thrown. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Whether the system said that there is nothing at the path it was asked for. */
export function isMissing(cause: unknown): boolean {
  const { code } = cause as { readonly code?: unknown };
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** What to do about E_OPEN_FILES. */
export const RAISE_LIMIT = 'raise the limit: ulimit -n 1024';

/** Whether the system refused to open one more file. */
export const isOutOfFiles = (cause: unknown): boolean =>
  ['EMFILE', 'ENFILE'].includes((cause as NodeJS.ErrnoException | null)?.code ?? '');
