/** What `baton doctor` says of the journal and of what was made from it; what can be made again is. */
import { BatonError } from '../../core/errors.ts';
import type { Check } from '../../core/store.ts';
import type { Engine } from './engine.ts';
import type { Proof } from './verify.ts';

export function journalChecks({ torn, damage }: Engine, { records, chain, content, texts }: Proof): Check[] {
  return [
    {
      name: 'journal',
      ok: chain === null,
      detail:
        chain === null
          ? `${records} records, every one chained to the one before`
          : `record ${chain.seq ?? '?'} (${chain.where}): ${chain.reason}`,
    },
    ...(torn === null
      ? []
      : [
          {
            name: 'last write',
            ok: true,
            detail: `a crash tore it; ${torn.bytes} bytes that were never acknowledged were cut off`,
          },
        ]),
    ...(damage.length === 0
      ? []
      : [{ name: 'damage', ok: true, detail: `${damage.length} damaged records were passed over` }]),
    ...(content.length === 0
      ? [{ name: 'content', ok: true, detail: `${texts} long texts, every one as it was written` }]
      : content.map(({ where, reason }) => ({ name: 'content', ok: false, detail: `${where}: ${reason}` }))),
  ];
}

/** The snapshot and the graph's file, compared with the journal's own fold; what is not the same is built again. */
export async function keptChecks(engine: Engine, proof: Proof): Promise<Check[]> {
  const { distrusted } = engine;
  const because = proof.snapshot?.reason ?? distrusted?.reason ?? null;
  const isMade = because !== null || proof.graph !== null ? await engine.rebuild() : false;
  const again = isMade ? 'it was built again from the journal' : 'the next start builds it again from the journal';
  const { snapshotProblem } = engine;
  // Sealed, and not what the journal says: somebody made it so.
  const isForged = proof.snapshot !== null && proof.snapshot.seq !== null;
  const said = because === null ? same(proof) : `not believed (${because}); ${again}`;
  return [
    { name: 'snapshot', ok: snapshotProblem === null && !isForged, detail: snapshotProblem ?? said },
    await graphCheck(engine, proof),
  ];
}

const same = ({ chain }: Proof): string =>
  chain === null ? 'as the journal says' : 'not compared: the journal is broken';

/** Reads the graph, where that has not been done, and writes its file anew where that was of no use. */
async function graphCheck(engine: Engine, { graph: broken }: Proof): Promise<Check> {
  const name = 'graph';
  try {
    engine.ready();
    const { graph } = engine.folded.state;
    await engine.mendGraph();
    const { graphProblem, graphDamage: damage } = engine;
    const problem = broken?.reason ?? graphProblem;
    const detail = [
      `${graph.size} nodes`,
      ...(problem === null ? [] : [`graph.jsonl was of no use (${problem}), so the journal was read instead`]),
      ...(damage.length === 0 ? [] : [`${damage.length} damaged records were passed over`]),
    ];
    return { name, ok: broken === null || broken.seq === null, detail: detail.join('; ') };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return { name, ok: false, detail: `${cause.message} (${cause.code})` };
  }
}
