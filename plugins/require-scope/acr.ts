// How sure an issuer is of who is there, as `acr` (OpenID Connect Core §2): `1` one factor, `2` two, `phr` by what no page of
// somebody else's can ask for, `phrh` by that with its key in hardware (OpenID Connect EAP ACR Values 1.0 §2). Values that are none of these have no order.

const ORDER: readonly string[] = ['1', '2', 'phr', 'phrh']

/** Whether `had` is `wanted`, or stronger than it. */
export function reachesAcr(had: unknown, wanted: string): boolean {
  if (typeof had !== 'string') return false
  const least = ORDER.indexOf(wanted)
  return had === wanted || (least >= 0 && ORDER.indexOf(had) >= least)
}
