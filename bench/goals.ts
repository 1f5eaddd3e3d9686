// Owns what is to be reached, and how far a comparison says we are: CPU of server and PostgreSQL together, of the bare
// ceiling's, and over oidc-provider by whichever of its token formats is cheaper.

import type { Endpoint } from './contestant.ts'
import { factor, table, whole } from './markdown.ts'
import { cpuRatios, median, type Result } from './result.ts'

interface Goal {
  endpoint: Endpoint
  /** Of Latchkey's row. */
  label: string
  /** Absent where no bare Fastify does the like. */
  ceiling?: number
  peer: number
}

const goals: readonly Goal[] = [
  { endpoint: 'client_credentials', label: 'Latchkey, JWT', ceiling: 0.8, peer: 2 },
  { endpoint: 'client_credentials_with_dpop', label: 'Latchkey, JWT', peer: 1.5 },
  { endpoint: 'client_credentials_with_private_key_jwt', label: 'Latchkey, JWT', peer: 1.5 },
  { endpoint: 'authorization_code', label: 'Latchkey, JWT, ES256 ID token', ceiling: 0.7, peer: 2.5 },
  { endpoint: 'sign_in_with_par_and_dpop', label: 'Latchkey, JWT, ES256 ID token', peer: 1.5 },
  { endpoint: 'refresh_token', label: 'Latchkey, JWT, ES256 ID token', ceiling: 0.75, peer: 3 },
  { endpoint: 'introspection', label: 'Latchkey, JWT, 256 tokens in turn', ceiling: 1, peer: 3 },
  { endpoint: 'introspection', label: 'Latchkey, opaque', ceiling: 1, peer: 3 },
  { endpoint: 'userinfo', label: 'Latchkey, JWT, 256 tokens in turn', ceiling: 1, peer: 3 },
  { endpoint: 'discovery', label: 'Latchkey', ceiling: 0.8, peer: 3 },
  { endpoint: 'jwks', label: 'Latchkey', ceiling: 0.8, peer: 2 },
]

/** MiB after the whole run. */
const memory = 160

export function goalTable(results: readonly Result[]): string {
  const rows = goals.flatMap((goal) => {
    const ours = results.find(({ row }) => row.endpoint === goal.endpoint && row.label === goal.label)
    if (!ours || ours.kept === 0) return []
    return [
      [
        `${goal.endpoint}, ${goal.label}`,
        `${whole(ours.serverCpu)} + ${whole(ours.postgresCpu)}`,
        ...compared(baseline(ours, 'ceiling', results), ours, goal.ceiling),
        ...compared(baseline(ours, 'peer', results), ours, goal.peer),
      ],
    ]
  })
  const most = Math.max(
    ...results.filter(({ row }) => row.label.startsWith('Latchkey')).map((one) => one.memory),
  )
  return [
    table(
      ['request', 'CPU µs: server + PostgreSQL', 'of ceiling', 'goal', 'over oidc-provider', 'goal'],
      rows,
    ),
    `Latchkey held ${whole(most)} MiB at most; the goal is ${memory}.`,
  ].join('\n\n')
}

/** The cheapest that signs as we do. */
function baseline(ours: Result, kind: 'ceiling' | 'peer', results: readonly Result[]): Result | undefined {
  const { endpoint, algorithm, format, holder } = ours.row
  const candidates = results.filter(
    ({ row, kept }) =>
      row.baseline === kind &&
      row.endpoint === endpoint &&
      row.algorithm === algorithm &&
      row.holder === holder &&
      kept > 0,
  )
  const alike = candidates.filter(({ row }) => kind === 'peer' || row.format === format)
  const total = ({ serverCpu, postgresCpu = 0 }: Result) => serverCpu + postgresCpu
  return (alike.length > 0 ? alike : candidates).toSorted((a, b) => total(a) - total(b))[0]
}

/** Median and range of the rounds, and the goal, in bold where it is missed. */
function compared(base: Result | undefined, ours: Result, goal: number | undefined): string[] {
  if (!base || goal === undefined) return ['', factor(goal)]
  const ratios = cpuRatios(base, ours)
  const found = median(ratios)
  const range = `${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}`
  return [`${factor(found)} (${range})`, found < goal ? `**${factor(goal)}**` : factor(goal)]
}
