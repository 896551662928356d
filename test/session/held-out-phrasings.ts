/**
 * Phrasings that were written before the rules for them were looked at: the measure of how well plain words are understood. A row is
 * what is said and what it has to become; each entry is one command, or the commands that would all be right at that place. No entry
 * means that nothing may happen: the line is a negation, a story, a condition, a question about how things work, or unclear.
 *
 * Do not write a rule for one of these lines. Rules are for kinds of lines, and a fresh set measures them.
 */
export type HeldOut = readonly [line: string, ...commands: readonly (string | readonly string[])[]];

/** The first set. Context: `CONTEXT` of `phrasings.ts`. */
export const FIRST_SET: readonly HeldOut[] = [
  // Delegating: terse, polite, with typos, with names in odd places.
  ['emma: fix the flaky login test', '#DELEGATE:emma:fix the flaky login test:P2'],
  ['bob pls update the readme', '#DELEGATE:bob:update the readme:P2'],
  ['codex -> bump the lodash version', '#DELEGATE:codex:bump the lodash version:P2'],
  [
    'could you have emma take a look at the memory leak?',
    ['#DELEGATE:emma:take a look at the memory leak:P2', '#DELEGATE:emma:the memory leak:P2'],
  ],
  ['would you mind asking bob to rename the config module', '#DELEGATE:bob:rename the config module:P2'],
  ["I'd appreciate it if codex wrote the migration"],
  [
    'can we get the test agent to cover the parser with unit tests',
    '#DELEGATE:TestAgent:cover the parser with unit tests:P2',
  ],
  ['kindly ask DevAgent to split utils.ts into two files', '#DELEGATE:DevAgent:split utils.ts into two files:P2'],
  ['plese ask emma to implment the search box', '#DELEGATE:emma:implment the search box:P2'],
  ['ask emma too fix the header'],
  [
    'get emma working on the onboarding flow',
    [
      '#DELEGATE:emma:the onboarding flow:P2',
      '#DELEGATE:emma:working on the onboarding flow:P2',
      '#DELEGATE:emma:work on the onboarding flow:P2',
    ],
  ],
  [
    'the header is broken, ask bob to fix it',
    [
      '#DELEGATE:bob:fix the header:P2',
      '#DELEGATE:bob:fix it (the header is broken):P2',
      '#DELEGATE:bob:the header is broken, fix it:P2',
    ],
  ],
  ['have codex add a --verbose flag to the cli', '#DELEGATE:codex:add a --verbose flag to the cli:P2'],
  ['emma needs to write docs for the new endpoint', '#DELEGATE:emma:write docs for the new endpoint:P2'],
  ['bob has to clean up the migrations folder', '#DELEGATE:bob:clean up the migrations folder:P2'],
  ['bob, can you rewrite the search index?', '#DELEGATE:bob:rewrite the search index:P2'],
  ['hey emma, could you please port the script to python?', '#DELEGATE:emma:port the script to python:P2'],
  ['new task for codex: remove dead code in src/legacy', '#DELEGATE:codex:remove dead code in src/legacy:P2'],
  ['task for bob - upgrade eslint', '#DELEGATE:bob:upgrade eslint:P2'],
  ['give bob the eslint upgrade', ['#DELEGATE:bob:the eslint upgrade:P2', '#DELEGATE:bob:eslint upgrade:P2']],
  ['pass the css cleanup to emma', '#DELEGATE:emma:the css cleanup:P2'],
  ['make codex responsible for the docker image', '#DELEGATE:codex:the docker image:P2'],
  [
    'let emma handle the accessibility audit',
    ['#DELEGATE:emma:handle the accessibility audit:P2', '#DELEGATE:emma:the accessibility audit:P2'],
  ],
  ['I think bob should refactor the router', '#DELEGATE:bob:refactor the router:P2'],
  ['we need codex to profile the startup time', '#DELEGATE:codex:profile the startup time:P2'],
  ['have the code reviewer go over the auth changes', '#DELEGATE:code-reviewer:go over the auth changes:P2'],
  ['Tell Bob: rename getUser to fetchUser', '#DELEGATE:bob:rename getUser to fetchUser:P2'],
  ['tell codex that it should remove the feature flag', '#DELEGATE:codex:remove the feature flag:P2'],
  ['ask emma if she can shorten the landing page', ['#DELEGATE:emma:shorten the landing page:P2']],
  [
    'ask emma to fix http://localhost:3000/login, contrast is 3:1, see src/a.cpp:42 and std::vector',
    '#DELEGATE:emma:fix http://localhost:3000/login, contrast is 3:1, see src/a.cpp:42 and std::vector:P2',
  ],
  ['ask bob to run `npm run build:prod` and report', '#DELEGATE:bob:run `npm run build:prod` and report:P2'],
  [
    'tell emma to set the timeout to 00:30:00 in config.yaml',
    '#DELEGATE:emma:set the timeout to 00:30:00 in config.yaml:P2',
  ],
  ['delegate "fix the build" to codex', '#DELEGATE:codex:fix the build:P2'],
  [
    'ask emma to add the text "do not delete" to the button',
    '#DELEGATE:emma:add the text "do not delete" to the button:P2',
  ],
  [
    'ask emma to make sure users do not see the error page',
    '#DELEGATE:emma:make sure users do not see the error page:P2',
  ],
  ['ask codex to stop the server from leaking sockets', '#DELEGATE:codex:stop the server from leaking sockets:P2'],
  ['ask bob why the build fails'],

  // Priority: only from words about priority.
  ['ask emma to protect the critical section in queue.c', '#DELEGATE:emma:protect the critical section in queue.c:P2'],
  ['ask bob to rename the urgent flag', '#DELEGATE:bob:rename the urgent flag:P2'],
  ['have codex add a page of important people', '#DELEGATE:codex:add a page of important people:P2'],
  ['ask emma to write a low-level driver', '#DELEGATE:emma:write a low-level driver:P2'],
  ['ask bob to fix the priority queue', '#DELEGATE:bob:fix the priority queue:P2'],
  ['top priority: ask codex to fix the login', '#DELEGATE:codex:fix the login:P0'],
  ['ask codex to fix the login, high priority', '#DELEGATE:codex:fix the login:P1'],
  ['ask codex to fix the login right away', '#DELEGATE:codex:fix the login:P0'],
  ['low priority: bob, tidy the changelog', '#DELEGATE:bob:tidy the changelog:P3'],
  ['ask emma to sort the imports whenever she has time', '#DELEGATE:emma:sort the imports:P3'],
  ['ASAP!! ask bob to revert the deploy script change', '#DELEGATE:bob:revert the deploy script change:P0'],
  ['ask bob to document the emergency procedure', '#DELEGATE:bob:document the emergency procedure:P2'],
  ['P1: ask emma to patch the xss hole', '#DELEGATE:emma:patch the xss hole:P1'],

  // Compound, and order.
  [
    'ask emma to build the api and then have bob test it',
    '#DELEGATE:emma:build the api:P2',
    ['#DELEGATE:bob:test it (build the api):P2', '#DELEGATE:bob:test it:P2'],
    '#DEPENDS:emma:build the api',
  ],
  [
    'once emma finishes the api, ask codex to write the client',
    '#DELEGATE:codex:write the client:P2',
    '#DEPENDS:emma:the api',
  ],
  [
    'ask emma to write the parser. after that, bob should write tests for the parser',
    '#DELEGATE:emma:write the parser:P2',
    '#DELEGATE:bob:write tests for the parser:P2',
    '#DEPENDS:emma:write the parser',
  ],
  [
    'have codex draft the schema; when that is done bob reviews the schema',
    '#DELEGATE:codex:draft the schema:P2',
    ['#DELEGATE:bob:review the schema:P2', '#DELEGATE:bob:reviews the schema:P2'],
    '#DEPENDS:codex:draft the schema',
  ],
  [
    'first emma fixes the build, then codex updates the docs',
    ['#DELEGATE:emma:fix the build:P2', '#DELEGATE:emma:fixes the build:P2'],
    ['#DELEGATE:codex:update the docs:P2', '#DELEGATE:codex:updates the docs:P2'],
    ['#DEPENDS:emma:fix the build', '#DEPENDS:emma:fixes the build'],
  ],
  ['ask bob to migrate the database before codex removes the old tables'],
  [
    'after TASK-2026-02-26-001 is done, ask bob to publish the release notes',
    '#DELEGATE:bob:publish the release notes:P2',
    ['#DEPENDS:emma:TASK-2026-02-26-001', '#DEPENDS:any:TASK-2026-02-26-001'],
  ],
  [
    'ask emma to fix the header and bob to fix the footer',
    '#DELEGATE:emma:fix the header:P2',
    '#DELEGATE:bob:fix the footer:P2',
  ],
  [
    'ask emma and bob to review the design',
    '#DELEGATE:emma:review the design:P2',
    '#DELEGATE:bob:review the design:P2',
  ],
  [
    'save a checkpoint called before_auth and ask codex to implement auth',
    '#CHECKPOINT:create:manual:before_auth',
    '#DELEGATE:codex:implement auth:P2',
  ],
  [
    'ask emma to read the spec and then summarize it in SPEC.md',
    ['#DELEGATE:emma:read the spec and then summarize it in SPEC.md:P2'],
  ],

  // Asking for reports.
  ["what's emma up to?", ['#REPORT:emma:progress', '#REPORT:emma:status']],
  ['is bob finished yet', ['#REPORT:bob:progress', '#REPORT:bob:status', '#REPORT:bob:results']],
  ['progress?', ['#REPORT:all:progress', '#REPORT:emma:progress']],
  ['status of everyone', ['#REPORT:all:status', '#REPORT:all:progress']],
  ['any errors so far?', '#REPORT:all:errors'],
  ['did anything break?', '#REPORT:all:errors'],
  ['what went wrong with codex', '#REPORT:codex:errors'],
  ['show me what DevAgent produced', '#REPORT:DevAgent:results'],
  ['how far along is the test agent', ['#REPORT:TestAgent:progress', '#REPORT:TestAgent:status']],
  ['give me a status update on bob', ['#REPORT:bob:status', '#REPORT:bob:progress']],
  ['did the tests pass?', '#REPORT:TestAgent:results'],
  ['what have the agents done so far', ['#REPORT:all:results', '#REPORT:all:progress', '#REPORT:all:status']],
  [
    'anything blocked?',
    ['#REPORT:all:blockers', '#REPORT:all:errors', '#REPORT:all:blocked', '#REPORT:all:status', '#REPORT:all:progress'],
  ],
  ['how much did emma cost', ['#REPORT:emma:cost', '#REPORT:emma:costs']],
  ["what's next?", '#NEXT'],
  ['what should happen next', '#NEXT'],
  ['who is working on what', ['#REPORT:all:progress', '#REPORT:all:status', '#REPORT:all:tasks']],

  // Retry, escalate, evaluate.
  ['try that again', ['#RETRY:TASK-2026-02-26-001']],
  ['retry TASK-2026-02-26-001 please', '#RETRY:TASK-2026-02-26-001'],
  ['give TASK-2026-02-26-001 another go', '#RETRY:TASK-2026-02-26-001'],
  ['I want a human to look at TASK-2026-02-26-001', ['#ESCALATE:TASK-2026-02-26-001']],
  ['escalate this', ['#ESCALATE:TASK-2026-02-26-001']],
  ['escalate TASK-2026-02-26-001', '#ESCALATE:TASK-2026-02-26-001'],
  ['is the result of TASK-2026-02-26-001 any good?', '#EVALUATE:TASK-2026-02-26-001'],

  // State.
  ['remember that the port is 8080', '#STATE:save:port:8080'],
  ['save region as eu-west-1', '#STATE:save:region:eu-west-1'],
  ['set api_url to https://api.example.com:8443/v1', '#STATE:save:api_url:https://api.example.com:8443/v1'],
  ['note: staging_db = postgres://db:5432/app', ['#STATE:save:staging_db:postgres://db:5432/app']],
  ['keep in mind that deploy_day is friday', '#STATE:save:deploy_day:friday'],
  ["what's the value of api_url", '#STATE:load:api_url'],
  ['what did we save for db?', '#STATE:load:db'],
  ['list everything we saved', '#STATE:list'],
  ['which keys do we have', '#STATE:list'],
  ['show saved values', '#STATE:list'],
  ['forget everything', '#STATE:clear'],

  // Locks, signals, waiting.
  ['lock src/auth.ts', ['#LOCK:src/auth.ts:300', '#LOCK:src/auth.ts']],
  ['please reserve src/db.ts for 10 minutes', '#LOCK:src/db.ts:600'],
  ['unlock src/auth.ts', '#UNLOCK:src/auth.ts'],
  ["I'm done with src/auth.ts, release it", '#UNLOCK:src/auth.ts'],
  ['release the lock on src/db.ts', '#UNLOCK:src/db.ts'],
  ['wait for dev_complete', ['#WAIT:dev_complete:300', '#WAIT:dev_complete']],
  ['wait up to 2 minutes for build_ok', '#WAIT:build_ok:120'],
  ['signal dev_complete', '#SIGNAL:dev_complete:true'],
  ['send the signal build_ok with value 42', '#SIGNAL:build_ok:42'],

  // Messages.
  [
    'tell everyone the build is green',
    [
      '#BROADCAST:announcements:the build is green',
      '#BROADCAST:all:the build is green',
      '#BROADCAST:general:the build is green',
      '#BROADCAST:priority_alert:the build is green',
      '#BROADCAST:test_results:the build is green',
      '#BROADCAST:session:the build is green',
      '#BROADCAST:deploy_status:the build is green',
    ],
  ],
  ['broadcast on deploy_status: v2 is live at 10:30', '#BROADCAST:deploy_status:v2 is live at 10:30'],
  ['let bob know that the api changed', '#DIRECT:bob:the api changed'],
  ['message codex: the key is in vault:prod/db', '#DIRECT:codex:the key is in vault:prod/db'],
  ['tell emma that the tests are green', '#DIRECT:emma:the tests are green'],
  ['subscribe to file_changes', '#SUBSCRIBE:file_changes'],
  ['stop listening to test_results', '#UNSUBSCRIBE:test_results'],
  ['keep me posted about deploys', ['#SUBSCRIBE:deploy_status']],

  // Checkpoints and rollback.
  ['make a checkpoint', ['#CHECKPOINT:create:manual:checkpoint', '#CHECKPOINT:create:manual:manual']],
  [
    'take a snapshot before we touch the parser',
    [
      '#CHECKPOINT:create:manual:before_we_touch_the_parser',
      '#CHECKPOINT:create:manual:before_touch_parser',
      '#CHECKPOINT:create:manual:before_touching_the_parser',
      '#CHECKPOINT:create:manual:checkpoint',
      '#CHECKPOINT:create:manual:manual',
      '#CHECKPOINT:create:manual:snapshot',
    ],
  ],
  ['checkpoint this as pre_release', '#CHECKPOINT:create:manual:pre_release'],
  ['what checkpoints are there', '#CHECKPOINT:list'],
  ['show me the diff since cp_001', '#CHECKPOINT:diff:cp_001'],
  ['what changed since before_refactor?', '#CHECKPOINT:diff:cp_001'],
  ['what would happen if we rolled back to cp_001?', '#ROLLBACK:dry-run:cp_001'],
  ['roll back to pre_deploy', '#ROLLBACK:cp_002'],
  ['go back to cp_001', '#ROLLBACK:cp_001'],

  // Context, version, help.
  ['export the session to ./out/today.ctx', '#CONTEXT:export:./out/today.ctx'],
  ['save the context into context/monday.ctx', '#CONTEXT:export:context/monday.ctx'],
  ['import context from ./out/today.ctx', '#CONTEXT:import:./out/today.ctx'],
  ['which protocol version is this?', '#VERSION'],
  [
    'how do locks work?',
    ['#HELP:LOCK', '#HELP:coordination', '#DEFINE:locks', '#DEFINE:lock', '#HELP:#LOCK', '#HELP:locks'],
  ],
  ['help me with checkpoints', ['#HELP:checkpoint', '#HELP:CHECKPOINT', '#HELP:#CHECKPOINT']],
  ['how healthy is the session', '#HEALTH:session'],
  ['how much context is left?', '#HEALTH:context'],

  // What must not act.
  ["don't delegate this to emma"],
  ['do not ask bob to deploy'],
  ['never roll back to cp_001'],
  ["please don't clear the state"],
  ['if the tests fail, roll back to cp_001'],
  ['should we roll back to cp_001?'],
  ['I was going to ask emma to fix the login, but never mind'],
  ['yesterday I asked bob to fix the header'],
  ['bob said to roll back to cp_001'],
  ['emma told me to clear the state'],
  ['she wrote "roll back to cp_001" in the chat'],
  ['the docs say you can ask emma to deploy'],
  ['what if we asked codex to rewrite everything?'],
  ['why did you roll back to cp_001?'],
  ['why was the task given to bob?'],
  ['instead of asking bob, fix it yourself'],
  ['it would be nice if emma could fix the login some day'],
  ['fix it'],
  ['do the thing with the stuff'],
  ['ask ghost to fix the login'],
  ['make it better'],
  ['no'],
  ['we rolled back to cp_001 last week'],
  ['imagine emma fixed the bug'],
  ["I wouldn't roll back to cp_001"],
  ['unless bob is busy, ask him to fix the header'],
  ['emma finished the header'],
  ['how would I ask bob to fix the header?'],
  ['how do I roll back to cp_001?', '#HELP:ROLLBACK'],
  ['had I asked emma to fix it, it would work now'],
];
