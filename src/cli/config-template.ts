/** The text of a new `config.yaml`: every section with its default, commented out. A test takes the marks off and reads it. */
import { AGENT_KINDS } from '../core/agent-kinds.ts';

export const CONFIG_TEMPLATE = `# Baton's settings. All of it is optional; what stands here commented out is what holds without it.
# To change something, take the # off its line and off the line of its section. baton doctor shows what is in force.

# The agents, by name. kind: ${AGENT_KINDS.slice(0, -1).join(', ')} or ${AGENT_KINDS.at(-1)}. Any of them takes command, args,
# env (names to pass through, or names with values), model, roles, tags and max_parallel. For example:
#   emma: { kind: codex, model: gpt-5.3-codex, roles: [EXECUTOR], max_parallel: 2 }
#   lint: { kind: command, command: [npm, run, lint] }
#   zed:  { kind: acp, command: [claude-agent-acp] }
#   claw: { kind: openclaw, url: "http://127.0.0.1:18789", token_env: OPENCLAW_GATEWAY_TOKEN }
#agents: {}

# agent: gets every task that names no agent. parallel: how many run at once. sandbox: auto, require or off. unverified: what becomes of
# a task that its agent calls done and that none of Baton's checks has proven: done, or review (a person has to approve it).
#defaults:
#  agent: null
#  parallel: 4
#  sandbox: auto
#  isolation: auto
#  merge: proven
#  unverified: done

# Commands that Baton runs after every task that may write, each of which has to exit with 0: CMD or NAME=CMD, as in:
# checks: [npm test, lint=npm run lint]
#checks: []

# max_cost_usd: what all of it may cost, in dollars; null is no limit. session_tokens: the context budget of a session.
#limits:
#  max_cost_usd: null
#  session_tokens: 100000

# repair: whether an agent whose report is missing or not right is asked for it once more, in the same conversation.
#reports:
#  repair: true

# Where tasks are kept: fs is the files of this folder.
#store: fs

# The hosts that a task with network RESTRICTED may reach, besides its model's.
#network:
#  allow: []

# Names for groups of agents, as in: backend: [emma, lint]
#teams: {}

# The model by complexity or execution profile, where a TASK names none, as in: LOW: { CODEX: gpt-5.3-mini }
#models: {}

# How deep a task may hand work on to tasks of its own, and how many stages may hand on to each other in a row.
#delegation:
#  max_depth: 3
#  max_stages: 20

# Below which confidence a result goes to a person, and below which it is not loaded; also for one domain, as in:
# domains: { research: { refuse_below: 0.80 } }
#confidence:
#  escalate_below: 0.9
#  refuse_below: 0.85
#  domains: {}

# Who does a stage of a handoff: an agent, a role or a team, or another name for one of them, as in:
# implementation-triad: { role: EXECUTOR }
# senior-developer: emma
# and what its tasks may cost (dollars), take (seconds) and write, how often they are tried again, and what they do in
# turn, each checked by Baton, as in:
# fix: { agent: emma, budget: 2, timeout: 600, write: [src, test], retries: 1, phases: [{ name: mend, do: "Mend it.", check: npm test }] }
#stages: {}

# Node types of this project, with the fields that a node of the type should have, as in: DeployPlan: [summary, steps]
#node_types: {}

# Commands of the session language that this project adds; a program or an agent answers. A run may give them only
# with agents: true, since the program is not in the run's sandbox. As in:
# DEPLOY: { usage: "#DEPLOY:<target>", does: deploy, run: [npm, run, deploy], tokens: 20 }
#commands: {}

# Who turns into commands what the rules of natural language do not reach; null is nobody.
#language:
#  agent: null

# Where checkpoints of a session are kept: refs (under refs/baton, your branch is not touched) or branch (commits on it).
#git: refs

# Who writes the prose when nodes are summed up (null: it is put together from the nodes), and how long that may be.
#bridge:
#  agent: null
#  tokens: 2000

# Dollars per million tokens, where a CLI reports tokens only, as in: gpt-5.3-codex: { input: 1.25, output: 10 }
#prices: {}

# Whom to tell what: a webhook (signed, where secret_env names a variable), a command (JSON on its stdin) or a file. For example:
# - { on: [task.blocked, task.deadletter], to: { webhook: "http://127.0.0.1:9/x", secret_env: HOOK_SECRET } }
# - { on: [review, shutdown], to: { command: [notify-me] } }
# - { on: ["run.*"], to: { file: notified.jsonl }, window_seconds: 300 }
#notify: []

# The folder of exported audit trails, within this one.
#audit:
#  storage_path: audit
`;
