/** Verbs of work: what people tell an agent to do. Sorted; one with an underscore is two words. */
const WORDS = `
  abstract add address adjust adopt alert align allow analy[sz]e animate annotate announce answer append archive assess
  attach audit authenticate authori[sz]e avoid back_up backfill batch benchmark bind bisect block bootstrap bound bring
  build bump bundle cache calculate capture carry center change chart check choose classify clean clone close cluster code
  collect combine comment compare compile compress compute configure confirm connect consolidate containeri[sz]e continue
  convert copy correct count cover crawl create crop debug declare decouple deduplicate define delete demo denormali[sz]e
  deny deploy deprecate describe design detach detect diagnose disable display do dockeri[sz]e document double-check
  download draft draw drop dump duplicate edit enable encrypt ensure escape estimate evaluate examine exclude expand
  explain export expose extend extract fetch filter find finish fix fork format gather generali[sz]e generate get grant
  graph group handle harden hash hide highlight hold hook identify ignore implement import improve include increase index
  init initiali[sz]e inject inline insert inspect install integrate internationali[sz]e introduce investigate isolate join
  keep kill label learn leave limit lint list load localize locate lock log look make map mark measure merge migrate
  mirror mock model moderni[sz]e modulari[sz]e monitor mount move mute normali[sz]e note notify open optimi[sz]e order
  package parametri[sz]e parse partition patch pick pin plan plot polish port prepare prepend present prevent print
  prioriti[sz]e profile proofread protect prototype provision prune publish pull purge push put queue rank rate-limit read
  rebase rebuild recogni[sz]e recompile record redesign redo reduce refactor reformat refresh register reindex release
  reload remove rename render renew reopen reorganise reorganize repair rephrase replace replicate reply report repro
  reproduce rerun research reset resize resolve respond restart restore restructure restyle retire retry revert review
  revoke reword rework rewrite rotate run sanitize save scaffold scan schedule score scrape search secure seed select send
  separate set set_up shard ship shorten show sign silence simplify sketch solve sort speed split spot squash start stop
  store stream stub study style summari[sz]e sunset suppress swap switch sync tag take teach test throttle tidy trace
  train translate triage trim try tune tweak typeset unblock unify unlock unmount unpin unregister unwrap update upgrade
  upload upstream use vacuum validate vendor verify visuali[sz]e warm wipe wire work wrap write
`;

/** As alternatives of a pattern. */
export const VERBS = WORDS.trim()
  .split(/\s+/)
  .map((word) => word.replaceAll('_', ' '))
  .join('|');

/** `build is broken`, `the tests have passed`: news, whatever verb its first word could be. */
export const isStatement = (words: string): boolean =>
  /^(?:(?:the|a|an|our|my|your|all|some) )?\S+(?: \S+){0,2}? (?:is|are|was|were|has|have|had|will be|failed|passed|broke|breaks|works|looks|seems)\b/i.test(
    words,
  ) &&
  !/^(?:make sure|ensure|check|verify|confirm|find out|see|look|fix|explain|investigate|test|figure out|document|describe|report|tell|say|decide|ask)\b(?! (?:is|are|was|were|has|have|had)\b)/i.test(
    words,
  );
