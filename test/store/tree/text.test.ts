import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTaskFile, type TaskFile } from '../../../src/protocol/aof/index.ts';
import { editOf, newTaskOf } from '../../../src/store/fs/tree/edits.ts';
import { oursOf, stampOf } from '../../../src/store/fs/tree/stamp.ts';
import { taskText } from '../../../src/store/fs/tree/text.ts';
import { anyText } from '../../protocol/aof/samples.ts';
import { anyTask, id, NOW, run, task } from './samples.ts';

const read = (text: string): TaskFile => {
  const result = readTaskFile(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.task;
};

describe('the text of a task file', () => {
  it('leaves out what is empty', () => {
    const text = taskText(task(), 'Please.\n', 17);
    expect(text.replace(/[0-9a-f]{12} \d+$/m, 'HASH LENGTH')).toBe(`---
# baton 17 HASH LENGTH
id: ${id(1)}
title: Fix the login page
status: ready
priority: normal
session: default
createdAt: 2026-07-01T10:00:00.000Z
updatedAt: 2026-07-01T10:00:00.000Z
lastTransitionAt: 2026-07-01T10:00:00.000Z
createdBy: user
---
Please.
`);
  });

  it('shows who has it and what went wrong', () => {
    const text = taskText(
      task({
        externalId: 'TASK-001',
        status: 'in-progress',
        routing: { agent: 'emma', role: null, team: null, tags: ['ui'] },
        dependsOn: [id(2)],
        parentId: id(3),
        depth: 1,
        attempts: 2,
        reviewRequired: true,
        retry: { maxRetries: 3, backoffSeconds: [1] },
        cause: { code: 'E_TIMEOUT', message: 'it took: too long' },
        summary: 'Half of it is there.',
        cost: { usd: 0.5, tokensInput: 10, tokensOutput: 2 },
        run: run(),
        availableAt: NOW + 60_000,
        metadata: { sprint: 12, attempts: 'mine' },
      }),
      '',
      18,
    );
    expect(text.split('\n').slice(2).join('\n')).toBe(`id: ${id(1)}
externalId: TASK-001
title: Fix the login page
status: in-progress
priority: normal
routing:
  agent: emma
  tags: [ui]
dependsOn: [${id(2)}]
parentId: ${id(3)}
session: default
lease:
  runId: ${id(1)}-r1
  agent: emma
  acquiredAt: 2026-07-01T10:00:00.000Z
  expiresAt: 2026-07-01T10:01:00.000Z
createdAt: 2026-07-01T10:00:00.000Z
updatedAt: 2026-07-01T10:00:00.000Z
lastTransitionAt: 2026-07-01T10:00:00.000Z
createdBy: user
metadata:
  delegationDepth: 1
  reviewRequired: true
  attempts: 2
  retry: { maxRetries: 3, backoffSeconds: [1] }
  cause: { code: E_TIMEOUT, message: "it took: too long" }
  summary: Half of it is there.
  cost: { usd: 0.5, tokensInput: 10, tokensOutput: 2 }
  sprint: 12
---
`);
  });

  it('shows until when a failed task waits', () => {
    expect(taskText(task({ availableAt: NOW + 30_000 }), '', 1)).toContain('  availableAt: 2026-07-01T10:00:30.000Z\n');
    expect(taskText(task({ availableAt: NOW + 30_000, status: 'done' }), '', 1)).not.toContain('availableAt');
  });

  it('tells whether it is exactly what Baton wrote', () => {
    const bytes = Buffer.from(taskText(task(), 'Größe\n', 17));
    expect(oursOf(bytes)).toMatchObject({ seq: 17 });
    const changed = [
      Buffer.concat([bytes, Buffer.from('\n')]),
      bytes.subarray(0, -1),
      Buffer.from(bytes.toString('utf8').replace('# baton 17', '# baton x7')),
      Buffer.from(bytes.toString('utf8').replace('login', 'logon')),
      Buffer.from(bytes.toString('utf8').replaceAll('\n', '\r\n')),
      Buffer.concat([Buffer.from('\ufeff'), bytes]),
      Buffer.alloc(0),
    ];
    expect(changed.map((each) => oursOf(each))).toEqual(changed.map(() => null));
    expect(stampOf(bytes.subarray(0, -1))).toMatchObject({ seq: 17 });
  });

  it('of any task is read back as it was: nothing is changed, nothing to put back', () => {
    fc.assert(
      fc.property(anyTask, fc.array(anyText), fc.nat(), (any, lines, seq) => {
        const body = lines.join('\n');
        const bytes = Buffer.from(taskText(any, body, seq));
        expect(oursOf(bytes)?.seq).toBe(seq);
        expect(editOf(any, body, read(bytes.toString('utf8')), true)).toEqual({ changes: {}, putBack: [] });
      }),
      { numRuns: 500 },
    );
  });

  it('of any task, dropped elsewhere, makes the same task again', () => {
    fc.assert(
      fc.property(anyTask, (any) => {
        const made = newTaskOf(read(taskText(any, 'b', 1)), 'x.md', 'ready', () => true);
        expect(made).toMatchObject({
          id: any.id,
          title: any.title.trim() === '' ? 'b' : any.title,
          priority: any.priority,
          session: any.session,
          texts: { body: 'b' },
        });
        expect(made.reviewRequired ?? false).toBe(any.reviewRequired);
        expect(made.dependsOn ?? []).toEqual(any.dependsOn);
        expect(made.retry?.maxRetries ?? 0).toBe(any.retry.maxRetries);
      }),
      { numRuns: 200 },
    );
  });
});
