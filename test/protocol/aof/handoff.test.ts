import { describe, expect, it } from 'vitest';
import {
  asEnvelope,
  decodeAofValue,
  type Handoff,
  handoffJson,
  handoffMarkdown,
  handoffOf,
} from '../../../src/protocol/aof/index.ts';
import { CHILD, handoff, inHandoff, TASK } from './samples.ts';

const request = (payload: object): Handoff => {
  const envelope = asEnvelope(decodeAofValue(inHandoff(payload)));
  if (envelope?.type !== 'handoff.request') throw new Error('not a valid handoff.request');
  return handoffOf(envelope);
};

describe('inputs/handoff.json', () => {
  it('is the request as it was sent', () => {
    expect(JSON.parse(handoffJson(request(handoff)))).toEqual(handoff);
  });

  it('stands alone: what the payload leaves to the envelope is in it, and so is what nobody knows', () => {
    expect(JSON.parse(handoffJson(request({ acceptanceCriteria: 'all green', mood: 1 })))).toEqual({
      taskId: CHILD,
      parentTaskId: TASK,
      fromAgent: 'swe-backend',
      toAgent: 'swe-qa',
      acceptanceCriteria: 'all green',
      mood: 1,
    });
  });
});

describe('inputs/handoff.md', () => {
  it('says it all for a person', () => {
    expect(handoffMarkdown(request(handoff))).toBe(`# Handoff: ${CHILD}

- From: swe-backend
- To: swe-qa
- Parent task: ${TASK}
- Due by: 2026-02-10T12:00:00.000Z

## Acceptance Criteria

- All tests pass
- Update docs

## Expected Outputs

- tests/report.md
- docs/QA.md

## Context

- tasks/in-progress/${TASK}.md (wherever its task is now: tasks/*/${TASK}.md)
- tasks/in-progress/${TASK}/outputs/handoff.md (wherever its task is now: tasks/*/${TASK}/outputs/handoff.md)

## Constraints

- No new dependencies
`);
  });

  it('says None for what is empty', () => {
    const text = handoffMarkdown(request({ acceptanceCriteria: [], constraints: [] }));
    expect(text).toContain('- Due by: None\n');
    for (const section of ['Acceptance Criteria', 'Expected Outputs', 'Context', 'Constraints']) {
      expect(text).toContain(`## ${section}\n\nNone\n`);
    }
  });

  it('shows what can be read of unreadable criteria', () => {
    const criteria = (acceptanceCriteria: unknown) =>
      handoffMarkdown(request({ acceptanceCriteria })).split('## Acceptance Criteria\n\n')[1]?.split('\n\n')[0];
    expect(criteria(['one', 5, { a: 1 }])).toBe('- one');
    expect(criteria('all green')).toBe('- all green');
    expect(criteria(5)).toBe('None');
  });

  it('lets no item start a section of its own', () => {
    expect(handoffMarkdown(request({ acceptanceCriteria: ['x\n\n## Constraints\r\x1b[2J'] }))).toContain(
      '- x ## Constraints\n',
    );
  });
});
