/** What waits for a person, and the person's answers: `inbox`, `approve`, `reject`, `changes`, `answer`. */
import { type Command, Option } from 'commander';
import { type AddCommand, notEmpty, sessionOption } from './options.ts';

const ID = 'what it stands under in the inbox: ask-1, a node, or a task';

const comment = (): Option =>
  new Option('--comment <text>', 'a word with it; it is written down, and told').argParser(notEmpty);

export function addPeopleCommands(command: AddCommand): void {
  command('inbox', 'list what waits for a person, the oldest first')
    .addOption(sessionOption('only what one session asks'))
    .addHelpText('after', INBOX_HELP)
    .action(async (options) => (await import('./inbox.ts')).showInbox(options));

  answering(command, 'approve', 'say yes: the node goes on to its next stage, the work is done')
    .option('--next <stage>', 'the stage that goes on, in place of the one that was asked for', notEmpty)
    .addHelpText('after', APPROVE_HELP)
    .action(async (id: string, options) => (await import('./inbox.ts')).answer(id, 'approved', options));

  answering(command, 'reject', 'say no: the task that asks is called off')
    .addHelpText('after', '\nExample:\n  baton reject ask-1 --comment "we do not build this"')
    .action(async (id: string, options) => (await import('./inbox.ts')).answer(id, 'rejected', options));

  answering(command, 'changes', 'ask for changes: the task is done again, and its agent is told the comment')
    .addHelpText('after', '\nExample:\n  baton changes ask-1 --comment "keep the old API"')
    .action(async (id: string, options) => (await import('./inbox.ts')).answer(id, 'changes_requested', options));

  answering(command, 'answer', 'answer a question: with one of its options, by name or number, or in your own words')
    .argument('<text...>', 'the answer')
    .addHelpText('after', ANSWER_HELP)
    .action(async (id: string, text: string[], options) =>
      (await import('./inbox.ts')).answer(id, 'answered', { ...options, text: text.join(' ') }),
    );
}

const answering = (command: AddCommand, name: string, description: string): Command =>
  command(name, description).argument('<id>', ID).addOption(comment());

const INBOX_HELP = `
Four kinds: an approval that an agent asks for, an uncertainty that it cannot
decide, a review of work, and a failure that is not tried again by itself. Each
names the tasks that wait for it, and nothing else waits. No answer is no
approval, however long it takes; and only a person answers, never an agent.

Examples:
  baton inbox
  baton approve ask-1
  baton answer ask-2 "P0 (Critical)"`;

const APPROVE_HELP = `
The answer becomes an OUTPUT and an Approval node by user, and the next stage's
task is made at once.

Examples:
  baton approve ask-1 --comment "go ahead"
  baton approve ask-1 --next implementation-triad
  baton approve TASK-2026-11-15-001`;

const ANSWER_HELP = `
The one who asked is run again and told the answer. The same question is not
asked twice. A task that failed is tried again with the answer retry.

Examples:
  baton answer ask-2 "P0 (Critical)"
  baton answer ask-2 1
  baton answer TASK-2026-11-15-001 retry`;
