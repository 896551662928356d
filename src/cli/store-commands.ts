/** The commands about the data folder and its journal: `why`, `events`, `audit`, `doctor`, `gc`. */
import { Argument, Option } from 'commander';
import { type AddCommand, inSession, notEmpty, sessionOption, wholeOrNone } from './options.ts';

export function addStoreCommands(command: AddCommand): void {
  command('why', 'say why a task is as it is and what it waits for, from recorded facts')
    .argument('<id>', 'a task, by its id or by its external id')
    .addOption(inSession())
    .addHelpText('after', '\nExample:\n  baton why TASK-2026-11-15-001')
    .action(async (id: string, options) => (await import('./why.ts')).explain(id, options));

  command('events', 'print the journal: all that ever happened, oldest first')
    .option('--follow', 'go on with what happens, until Ctrl-C')
    .option('--task <id>', 'only the events of one task', notEmpty)
    .addOption(sessionOption('only the events of one session'))
    .addOption(new Option('--as <form>', 'as EVENT messages of the orchestration protocol').choices(['aop2']))
    .addHelpText(
      'after',
      '\nWith --json, one event a line. With --as aop2, one EVENT a line: HEARTBEAT,\nPROGRESS_UPDATE, PRIORITY_ESCALATION, ROLLBACK_INITIATED, VERSION_FALLBACK and\nSESSION_FINAL_REPORT; what the protocol has no EVENT for is left out.\n\nExamples:\n  baton events --follow\n  baton events --json | tail -1\n  baton events --as aop2 --follow',
    )
    .action(async (options) => (await import('./events.ts')).showEvents(options));

  command('audit', 'print the audit trail, or verify that the journal is as it was written')
    .addArgument(new Argument('[verify]', 'check the chain of hashes, record by record').choices(['verify']))
    .addOption(sessionOption('only one session'))
    .addHelpText('after', AUDIT_HELP)
    .action(async (what: 'verify' | undefined, options) => (await import('./audit.ts')).audit(what, options));

  command('doctor', 'say what is installed, what is in force, and what is broken in the data folder')
    .option('--fix', 'repair what can be repaired')
    .addHelpText(
      'after',
      '\nExits 1 when something is broken. A tool that is not installed is not,\nunless config.yaml needs it.\n\nExamples:\n  baton doctor\n  baton doctor --fix',
    )
    .action(async (options) => (await import('./doctor.ts')).doctor(options));

  command('gc', 'remove logs, snapshots and worktrees that nothing needs any more')
    .option('--keep <days>', 'days that what is over is kept', wholeOrNone, 30)
    .option('--dry-run', 'remove nothing, and say what would be removed')
    .addHelpText('after', GC_HELP)
    .action(async (options) => (await import('./gc.ts')).gc(options));
}

const AUDIT_HELP = `
Each record of the journal holds the hash of the one before it in its session.
verify reads them all, and exits 1 at the first that does not fit. With --json
the trail is one record a line.

Examples:
  baton audit --session default --json
  baton audit verify`;

const GC_HELP = `
Of tasks that are done or cancelled, so many days after that, and only where no
open task or question builds upon them: the folders of their runs below logs/,
what is left of their snapshots where nothing is to be put back, and their
worktrees where all is merged and nothing else is in them. Each that is kept is
told with its reason. Journal, nodes, reports, checkpoints, and what Baton did
not make are never removed. For people: a run may not.

With --json: {"removed":[PATH],"kept":[{"path","because"}]}; paths are below the
data folder.

Examples:
  baton gc --dry-run
  baton gc --keep 7`;
