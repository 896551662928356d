/** `baton demo`: what Baton does today, shown on an answer as agents really give them. Reads nothing, writes nothing. */
import { convert } from '../protocol/convert.ts';
import { detect } from '../protocol/detect.ts';
import { describe } from './check.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim } from './style.ts';

const ANSWER = `I found the cause and fixed it. First the record:

[GRAPH_UPDATE]
type: add_node
node_id: bug_login_500_20261028_103045
node_type: BugBrief
metadata: { created_by: bug-brief, created_at: "2026-10-28T10:30:45Z", domain: software-development, confidence: 0.95, output_type: brief }
data:
  summary: Login answers 500 with valid credentials
  reproduction_steps: [Open /login, Sign in]
  expected_behavior: The dashboard
  actual_behavior: Error 500
  acceptance_criteria: [Sign-in works]
handoff: { ready_for_next: true, next_stage: implementation-triad, required_fields: [summary] }
lineage: { created_from_node: null, consumed_by_nodes: [] }
[/GRAPH_UPDATE]

{"protocol":"aof","version":1,"type":"status.update","taskId":"TASK-2026-10-28-001","fromAgent":"emma","sentAt":"2026-10-28T10:31:00Z","payload":{"progress":"Half of it compiles"}}

#STATE:save:auth_complete:true
#LOCK

[AOP:START] 2026-10-28T10:30:00Z
[AOP:TASK] Fix the login form
[AOP:SUMMARY]
- Null check added in src/auth/login.py
- 1,204 tests pass, 0 fail
[AOP:DETAILS_FILE] out/login fix.json
[AOP:METRICS] tests: 1,204, duration: 00:02:10
[AOP:STATUS] success
[AOP:END] 2026-10-28T10:32:10Z
`;

export function demo({ json }: Globals): void {
  const found = detect(ANSWER);
  const context = {
    now: '2026-10-28T10:33:00Z',
    workspaceRoot: '.',
    sessionId: 'AOP-SESSION-2026-10-28-001',
    taskId: 'TASK-001',
  };
  const converted = convert(found, 'response', context);
  if (json) return printJson({ messages: found, response: converted });
  print(bold('1. An agent prints this, as agents do: prose, and five protocols in between.\n'));
  print(dim(ANSWER.replace(/^/gm, '   ')));
  print(bold('\n2. baton check finds every message in it, and says what is wrong with each.\n'));
  for (const message of found) print(describe(message).replace(/^/gm, '   '));
  print(bold('\n3. baton convert --to response says the same in another dialect, and names what is lost.\n'));
  if ('problem' in converted) throw new Error(converted.problem.message);
  print(JSON.stringify(converted.output, null, 2).replace(/^/gm, '   '));
  print(`\n   lost: ${converted.lost.join(', ') || 'nothing'}`);
  print(bold('\nTry it on a text of yours: baton check FILE'));
}
