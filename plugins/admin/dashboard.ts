/** `/admin`: how much there is, how the last day went, whether all is well, and what to do first. */
import { Type } from '../../src/protocol/schema.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { firstHour, grouped, plotOf } from './activity-plot.ts'
import { auditRows } from './audit/audit-rows.ts'
import type { OwnArea } from './area.ts'
import type { HealthView } from './models.ts'

/** Events at the foot of the page. */
const LATEST = 8
const DAY = 86_400_000

export function addDashboard(area: OwnArea): void {
  const { oauth, kernel, serve, uri } = area

  serve({
    path: '/admin',
    query: Type.Object({}),
    async show(_query, { reply }) {
      const now = Date.now()
      const [figures, activity, { events }, milliseconds] = await Promise.all([
        kernel.figures(),
        oauth.audit.activity(firstHour(now)),
        oauth.audit.list({}, { limit: LATEST }),
        timed(async () => kernel.database.ping()),
      ])
      const { users, clients, sessions, most } = figures
      const capped = (count: number): string => (count > most ? `${grouped(most)}+` : grouped(count))
      const plot = plotOf(activity, now)
      const numbers = [
        { text: 'Users', value: capped(users), href: uri('/users') },
        { text: 'Clients', value: capped(clients), href: uri('/clients') },
        { text: 'Open sessions', value: capped(sessions), href: null },
        ...plot.bands
          .slice(1)
          .map(({ name, total }) => ({ text: `${name} in 24 h`, value: grouped(total), href: null })),
      ]
      return reply.page('admin-dashboard', {
        numbers,
        plot,
        health: healthOf(kernel, figures.schema, milliseconds),
        rows: await auditRows(area, events),
        auditUri: uri('/audit'),
        steps: stepsFor(area, { users, clients, issued: plot.bands.at(-1)!.total }),
      })
    },
  })
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return Math.round(performance.now() - started)
}

/** What somebody who has just begun does next; nothing once all of it is done. */
function stepsFor({ uri }: OwnArea, had: { users: number; clients: number; issued: number }) {
  const steps = [
    {
      text: 'Register the first app that people sign in to, or a service',
      href: uri('/clients/new'),
      done: had.clients > 0,
    },
    { text: 'Register the people who may sign in', href: uri('/users/new'), done: had.users > 1 },
    { text: 'Sign in to the app, and find it in the audit log', href: uri('/audit'), done: had.issued > 0 },
  ]
  return steps.slice(0, 2).every(({ done }) => done) ? [] : steps
}

function healthOf({ keys, load, database }: Kernel, schema: string, milliseconds: number): HealthView[] {
  const { connections, hashing, changesAge } = load()
  const current = keys.keys().filter((key) => keys.stateOf(key) === 'current')
  const ages = current.map(({ algorithm, signsFrom }) => `${algorithm} ${daysSince(signsFrom)}`)
  return [
    { name: 'Database', well: true, text: `${database.where} answers in ${milliseconds} ms` },
    {
      name: 'Connections of this process',
      well: connections.waiting === 0,
      text: `${connections.total} open, ${connections.idle} idle, ${connections.waiting} requests waiting for one`,
    },
    {
      name: 'Changes of other processes',
      well: changesAge !== undefined && changesAge < 5,
      text: changesAge === undefined ? 'not read yet' : `read ${changesAge.toFixed(1)} s ago`,
    },
    {
      name: 'Passwords being checked',
      well: hashing.waiting < 20,
      text: `${hashing.running} now, ${hashing.waiting} waiting`,
    },
    { name: 'Signing keys in use', well: true, text: ages.join(', ') },
    { name: 'Schema', well: true, text: schema.replace(/^Migration/, '') },
  ]
}

function daysSince(instant: number): string {
  const days = Math.max(0, Math.floor((Date.now() - instant) / DAY))
  if (days === 0) return 'since today'
  return days === 1 ? 'for 1 day' : `for ${days} days`
}
