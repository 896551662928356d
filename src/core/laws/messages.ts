/** What can be asked of tasks, the knowledge graph and questions. Plain data, so that it crosses a socket as it is. */
import type { ApprovalStatus, GraphUpdate } from '../node.ts';
import type { Outcome } from '../report.ts';
import type { Checkpoint, Holder, LockPriority } from '../session.ts';
import type { RetryPolicy, Routing, Supervisor, TaskPriority, TaskStatus, Verdict, Workspace } from '../task.ts';

/** Who asks, as the channel knows it, never as the message says. */
export interface Actor {
  /** `unknown`: a change in the file tree made while a run was live, so that nobody can tell whose it was. */
  readonly kind: 'person' | 'agent' | 'runtime' | 'unknown';
  readonly name: string;
}

/** Texts of a task by name: `body`, or the path of a file in its folder (`inputs/task.json`). */
export type Texts = Readonly<Record<string, string>>;

export interface NewTask {
  /** An id of its own choice; the next free one where there is none. */
  readonly id?: string;
  readonly externalId?: string;
  readonly title: string;
  readonly status?: 'backlog' | 'ready';
  readonly priority?: TaskPriority;
  readonly routing?: Partial<Routing>;
  readonly model?: string;
  /** With `checkout` it becomes a worktree where another unfinished task has that checkout. */
  readonly workspace?: Workspace;
  readonly session?: string;
  readonly parentId?: string;
  /** By id, or by an external id of the same session; also of tasks that are added together with it. */
  readonly dependsOn?: readonly string[];
  /** The absolute paths that it says it will write. */
  readonly writes?: readonly string[];
  readonly retry?: RetryPolicy;
  readonly reviewRequired?: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly texts?: Texts;
  /** A word in its texts that stands for the id that it will get. */
  readonly idWord?: string;
}

/** Who claims: its name, and what makes it fit for tasks that name no agent. */
export interface Claimer {
  readonly agent: string;
  readonly roles?: readonly string[];
  readonly teams?: readonly string[];
  readonly tags?: readonly string[];
  /** Takes tasks of whatever routing, for the agent that they name; `agent` does those that name none. */
  readonly any?: boolean;
  /** With `any`: not those that name one of these agents. */
  readonly except?: readonly string[];
  /** The run is this agent's, whoever the task names: after a fallback, or because a person said so. */
  readonly instead?: boolean;
  /** The model that its runs have, where the task does not say otherwise. */
  readonly model?: string;
}

export interface Amount {
  readonly usd?: number;
  readonly tokensInput?: number;
  readonly tokensOutput?: number;
}

/** Where a node is handed on to, as an OUTPUT envelope says it. */
export interface Handed {
  readonly node: string;
  readonly nextStage: string;
  readonly requiredFields: readonly string[];
  readonly optionalFields: readonly string[];
  readonly confidence: number;
  readonly outputType: string;
  /** A person has to say yes first. */
  readonly approval: { readonly question: string } | null;
  readonly escalationReason: string | null;
}

/** A node that is handed on, with the task of its next stage, which is made at once where nothing has to be asked first. */
export type HandedOn = Handed & { readonly next?: NextStage };

/** The least confidence that is not asked about; by domain where config says so. */
export interface Threshold {
  readonly below: number;
  readonly domains: Readonly<Record<string, number>>;
}

/** The task of the stage that a node goes to next, and the nodes that it was given. */
export interface NextStage {
  readonly task: NewTask;
  readonly loads: readonly string[];
}

export type TaskMessage =
  /** Makes tasks, all of them or none. */
  | { readonly type: 'task.add'; readonly tasks: readonly NewTask[]; readonly maxDepth?: number }
  | { readonly type: 'task.move'; readonly id: string; readonly to: TaskStatus; readonly reason?: string }
  | { readonly type: 'task.cancel'; readonly id: string; readonly reason?: string }
  /** Makes it ready once more, with all its attempts. */
  | { readonly type: 'task.retry'; readonly id: string }
  | {
      readonly type: 'task.edit';
      readonly id: string;
      readonly title?: string;
      readonly priority?: TaskPriority;
      readonly routing?: Partial<Routing>;
      /** Null leaves it to the agent. */
      readonly model?: string | null;
      readonly workspace?: Workspace;
      readonly writes?: readonly string[];
      readonly retry?: RetryPolicy;
      readonly dependsOn?: readonly string[];
      readonly reviewRequired?: boolean;
      readonly metadata?: Readonly<Record<string, unknown>>;
      readonly texts?: Texts;
      /** The task's `updatedAt` when it was read: what was changed since is not overwritten. */
      readonly seen?: number;
      /** Why it is more or less urgent now, and who says so where that is somebody else. */
      readonly reason?: string;
      readonly escalatedBy?: string;
    }
  /** News of a task, said by message: a new status, a line more in its text. */
  | {
      readonly type: 'task.update';
      readonly id: string;
      /** The run that speaks; it has to be the current one. */
      readonly run?: string;
      readonly to?: TaskStatus;
      readonly reason?: string;
      readonly messageId?: string;
      /** The task's `updatedAt` when its text was read: another text is not overwritten. */
      readonly seen?: number;
      readonly texts?: Texts;
      /** What is written down of the message. */
      readonly detail: Readonly<Record<string, unknown>>;
    }
  /** How a task ended that nobody supervises, as the agent says that did it. */
  | {
      readonly type: 'task.report';
      readonly id: string;
      /** The run that speaks; it has to be the current one. */
      readonly run?: string;
      readonly agent: string;
      readonly outcome: Outcome;
      readonly summary?: string;
      /** What the agent says that it used; `estimated` where it only reckons. */
      readonly cost?: Amount;
      readonly estimated?: boolean;
      /** Why it failed: a code of the table, and a sentence. */
      readonly code?: string;
      readonly reason?: string;
      readonly messageId?: string;
      readonly texts?: Texts;
      readonly detail: Readonly<Record<string, unknown>>;
    }
  /** Takes a task for a new run: the one named, or the most urgent that fits. */
  | {
      readonly type: 'task.claim';
      readonly id?: string;
      readonly claimer: Claimer;
      /** Or for one of these: the most urgent task of all goes first. Only where no task is named. */
      readonly others?: readonly Claimer[];
      readonly leaseMs: number;
      readonly model?: string;
      readonly supervisor?: Supervisor;
    }
  /** Another program has taken a task that is in progress, and says so in `runs/<id>/run.json`: its run is one like any other from now on. */
  | {
      readonly type: 'run.adopt';
      readonly id: string;
      readonly agent: string;
      /** The id that the run has in its own files. */
      readonly externalId: string;
      /** How long it may be silent before it is stale. */
      readonly leaseMs: number;
    }
  /** A run's claim about how it ended. */
  | {
      readonly type: 'run.report';
      readonly run: string;
      readonly outcome: Outcome;
      /** Its agent reported nothing. */
      readonly silent?: true;
      readonly summary?: string;
      readonly cost?: Amount;
      /** Why it failed: a code of the table, and a sentence; the summary where there is none. */
      readonly code?: string;
      readonly reason?: string;
      /** How often a phase was done again within the run: each time counts as a retry. */
      readonly repeats?: number;
      readonly messageId?: string;
      readonly texts?: Texts;
    }
  /** What the runtime itself found when it looked at the evidence. */
  | {
      readonly type: 'run.judge';
      readonly run: string;
      readonly passed: boolean;
      /** What Baton's own checks said; unverified where nothing is said and nothing stands against it. */
      readonly verdict?: Verdict;
      /** What stands against it; E_EVIDENCE where nothing is said. */
      readonly code?: string;
      readonly findings?: readonly string[];
      /** Who merges what is accepted by this, at once. */
      readonly supervisor?: Supervisor;
      /** Unverified work waits for a person, and is not done by itself. */
      readonly unverified?: 'review';
      /** What stands against it is not the agent's to mend: it is not tried again. */
      readonly final?: boolean;
      /** How often a phase was done again within the run: each time counts as a retry. */
      readonly repeats?: number;
    }
  /** A run that ended without doing its work. */
  | {
      readonly type: 'run.fail';
      readonly run: string;
      readonly code: string;
      readonly message: string;
      readonly cost?: Amount;
      /** It is not tried again, and not with another model. */
      readonly final?: boolean;
      /** How often a phase was done again within the run: each time counts as a retry. */
      readonly repeats?: number;
    }
  /** The supervisor is gone and the run is silent: what is on disk decides. */
  | {
      readonly type: 'run.resume';
      readonly run: string;
      readonly result: Outcome | 'none' | 'unreadable';
      readonly summary?: string;
      /** Why it failed, where the agent said so: a code of the table, and a sentence. */
      readonly code?: string;
      readonly message?: string;
      /** The runtime saw for itself that the process and who watched over it are no more; no need to wait for the lease's end. */
      readonly gone?: boolean;
      /** What it has used, as far as that is known. */
      readonly cost?: Amount;
      /** Baton was asked to stop, and the run with it: that is no attempt that failed. */
      readonly reason?: 'leaving';
    }
  /** Where a run works, and the commit that it starts from. */
  | {
      readonly type: 'run.workspace';
      readonly run: string;
      readonly workspace: Workspace;
      readonly detail?: Readonly<Record<string, unknown>>;
    }
  /** A Baton takes accepted work to merge it: of several one wins. */
  | {
      readonly type: 'task.merge';
      readonly id: string;
      readonly supervisor: Supervisor;
      /** The runtime saw for itself that the process that had taken it is gone. */
      readonly gone?: boolean;
    }
  /** How the merge went. `conflict` has it run again on the fresh tip; `waits` stays accepted; `refused` is for a person. */
  | {
      readonly type: 'task.merged';
      readonly id: string;
      readonly supervisor: Supervisor;
      readonly result: 'merged' | 'conflict' | 'waits' | 'refused';
      readonly message?: string;
      readonly detail?: Readonly<Record<string, unknown>>;
    }
  /** What a run has used whose task was taken from it: whoever took it did not know. */
  | { readonly type: 'run.charge'; readonly run: string; readonly cost: Amount }
  /** Something that happened and changes nothing: an edit refused, a file repaired. */
  | {
      readonly type: 'note';
      readonly event: string;
      readonly task?: string;
      /** Remembered with the task, so that the same message acts once. */
      readonly messageId?: string;
      /** Texts that are kept with the task. */
      readonly texts?: Texts;
      readonly run?: string;
      readonly session?: string;
      readonly detail: Readonly<Record<string, unknown>>;
    };

export type GraphMessage =
  /** The blocks of one report, all of them or none; what is unsure, or needs a yes, becomes a question. */
  | {
      readonly type: 'graph.apply';
      readonly updates: readonly GraphUpdate[];
      /** What each OUTPUT of the report hands on. */
      readonly handed?: readonly HandedOn[];
      readonly escalate: Threshold;
      readonly session?: string;
      readonly task?: string;
      /** It has to be the current one of its task. What a run says is taken once. */
      readonly run?: string;
    }
  /** A node was given to a task, or used by another node. */
  | {
      readonly type: 'graph.load';
      readonly node: string;
      readonly by: { readonly task: string } | { readonly node: string };
    }
  /** Nodes are not to be built upon any more, nor what was made from them: those named, and all that a task has written. */
  | {
      readonly type: 'graph.stale';
      readonly nodes?: readonly string[];
      readonly task?: string;
      readonly reason: string;
    }
  /** A person's word on a task that waits for one; nobody else's is taken. */
  | {
      readonly type: 'task.answer';
      readonly id: string;
      readonly status: ApprovalStatus | 'answered';
      readonly text?: string;
      readonly comment?: string;
      /** What was asked: to look at work, to resolve what it waits for, to try again. */
      readonly kind: 'review' | 'uncertainty' | 'failure';
      readonly asked: string;
      /** The nodes that it is about. */
      readonly sources?: readonly string[];
    }
  /** A person's word; nobody else's is taken. */
  | {
      readonly type: 'question.answer';
      readonly id: string;
      readonly status: ApprovalStatus | 'answered';
      readonly text?: string;
      readonly comment?: string;
      /** The stage that goes on, where it was approved. */
      readonly next?: NextStage;
    };

/** Who gives a command in a session: a name, its run where it is one, how urgent it is, and whether it may decide over others. */
export interface Speaker {
  readonly agent: string;
  readonly run: string | null;
  readonly priority: LockPriority;
  /** A person, or the agent that the session is led by. */
  readonly leads: boolean;
}

/** What the session language asks to be remembered. The answer's `reply` is the document's. */
export type SessionMessage =
  | {
      readonly type: 'session.save';
      readonly session: string;
      readonly key: string;
      readonly value: string;
      readonly persistent: boolean;
      readonly speaker: Speaker;
    }
  | { readonly type: 'session.clear'; readonly session: string; readonly speaker: Speaker }
  | { readonly type: 'session.variable'; readonly session: string; readonly name: string; readonly value: string }
  | {
      readonly type: 'session.lock';
      readonly session: string;
      readonly resource: string;
      readonly seconds: number;
      readonly speaker: Speaker;
    }
  | { readonly type: 'session.unlock'; readonly session: string; readonly resource: string; readonly speaker: Speaker }
  /** Begins to wait, or says that it is over: `reply` is `ready`, `waits:<n>` with the number of this wait, or `deadlock:<path>`. */
  | {
      readonly type: 'session.wait';
      readonly session: string;
      readonly condition: string;
      readonly seconds: number;
      readonly speaker: Speaker;
      /** The agents that the condition names, where it does: it is met when they have no work in the session. */
      readonly agents?: readonly string[];
      /** The wait that is asked about once more. */
      readonly wait?: number;
      /** It is given up. */
      readonly over?: boolean;
    }
  | {
      readonly type: 'session.signal';
      readonly session: string;
      readonly condition: string;
      readonly value: string;
      readonly speaker: Speaker;
    }
  | {
      readonly type: 'session.send';
      readonly session: string;
      /** To all who listen to a channel, or to one agent. With `everyone` to all of the session who have not stopped listening to it. */
      readonly to: { readonly channel: string; readonly everyone?: boolean } | { readonly agent: string };
      readonly text: string;
      readonly speaker: Speaker;
    }
  | {
      readonly type: 'session.subscribe';
      readonly session: string;
      readonly channel: string;
      readonly on: boolean;
      readonly speaker: Speaker;
    }
  /** Letters that were read, and need not be kept. */
  | { readonly type: 'session.read'; readonly session: string; readonly agent: string; readonly upTo: number }
  | {
      readonly type: 'session.depend';
      readonly session: string;
      readonly agent: string;
      readonly task: string;
      readonly speaker: Speaker;
    }
  /** A question for the inbox of people; about a task of the session where one is named. */
  | {
      readonly type: 'session.escalate';
      readonly session: string;
      readonly text: string;
      readonly task?: string;
      readonly speaker: Speaker;
    }
  /** How a voice wants to be answered; null is as at first. */
  | { readonly type: 'session.mode'; readonly session: string; readonly voice: string; readonly mode: string | null }
  | { readonly type: 'session.delegated'; readonly session: string; readonly agent: string; readonly task: string }
  | {
      readonly type: 'session.checkpoint';
      readonly session: string;
      readonly checkpoint: Omit<Checkpoint, 'at' | 'by' | 'state' | 'variables' | 'tasks'>;
      /** The id that its files are kept under; the next one where there is none. */
      readonly id?: string;
      /** The time of the last rollback when its files were first looked at, null where there was none: of files that went back meanwhile there is no checkpoint. */
      readonly since?: number | null;
      readonly speaker: Speaker;
    }
  /** Before files go back: the session's runs are stopped, and none begins. With `to` null it came to nothing, and work goes on. */
  | {
      readonly type: 'session.hold';
      readonly session: string;
      readonly to: string | null;
      readonly keep: string | null;
      /** Who goes back. */
      readonly holder?: Holder;
      /** The token of a holder that is gone: its place is taken. */
      readonly instead?: string;
      /** The files are half back, and nobody is at it any more: nothing begins, and anybody may complete it. */
      readonly left?: boolean;
      readonly speaker: Speaker;
    }
  /** The files are as they were; now all the rest is. */
  | {
      readonly type: 'session.rollback';
      readonly session: string;
      readonly id: string;
      readonly kept: string | null;
      readonly files: number;
      /** The tasks that are done since, each as it is to be made anew. */
      readonly anew: readonly { readonly task: string; readonly made: NewTask }[];
      /** The token of who held the session for it. */
      readonly holder?: string;
      readonly speaker: Speaker;
    }
  | {
      readonly type: 'session.import';
      readonly session: string;
      readonly mode: 'merge' | 'replace';
      readonly state: Readonly<Record<string, { readonly value: string; readonly persistent: boolean }>>;
      readonly variables: Readonly<Record<string, string>>;
      readonly tasks?: readonly NewTask[];
      /** Where it came from, and the session that it was. */
      readonly file?: string;
      readonly from?: string;
      readonly done?: readonly { readonly task: string; readonly summary: string }[];
      readonly speaker: Speaker;
    }
  | {
      readonly type: 'session.exported';
      readonly session: string;
      readonly file: string;
      readonly items: number;
      /** The time of the latest change that is in it, where all that has changed is: the next one goes on from there. */
      readonly upTo?: number;
      /** What is temporary is in it too. */
      readonly temporary?: boolean;
    }
  /** All that was not exported is forgotten. */
  | { readonly type: 'session.end'; readonly session: string; readonly speaker: Speaker };

/** All that can be asked of a store. */
export type AnyMessage = TaskMessage | GraphMessage | SessionMessage;
