/** `/admin`: how much there is, how the last day went, whether all is well, and what to do first. */
import { message, type Message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { createAuditLog } from '../../src/services/audit/audit-log.ts'
import { createFigures } from '../../src/services/figures.ts'
import type { ListingState } from '../../src/services/listings.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { firstHour, plotOf } from './activity-plot.ts'
import { auditRows } from './audit/audit-rows.ts'
import type { OwnArea } from './area.ts'
import { distributionOf } from './distribution.ts'
import type { HealthView } from './models.ts'

/** Events at the foot of the page. */
const LATEST = 8
const DAY = 86_400_000

export function addDashboard(area: OwnArea): void {
  const { kernel, serve, uri } = area

  serve({
    path: '/admin',
    query: Type.Object({}),
    async show(_query, call) {
      const listing = await area.listing(call)
      const log = createAuditLog(listing)
      const now = Date.now()
      const [figures, activity, { events }, milliseconds, distribution] = await Promise.all([
        createFigures(listing)(),
        log.activity(firstHour(now)),
        log.list({}, { limit: LATEST }),
        timed(async () => kernel.database.ping()),
        distributionOf(area, (url) => call.request.server.hasRoute({ method: 'GET', url })),
      ])
      const { users, clients, sessions, most } = figures
      const capped = (count: number): Message =>
        count > most ? message('{count, number}+', { count: most }) : message('{count, number}', { count })
      const plot = plotOf(activity, now)
      const numbers = [
        { text: message('Users'), value: capped(users), href: uri('/users') },
        { text: message('Clients'), value: capped(clients), href: uri('/clients') },
        { text: message('Open sessions'), value: capped(sessions), href: null },
        ...plot.bands.slice(1).map(({ name, total }) => ({
          text: message('{what} in 24 h', { what: name }),
          value: message('{count, number}', { count: total }),
          href: null,
        })),
      ]
      return call.reply.page('admin-dashboard', {
        numbers,
        plot,
        health: healthOf(kernel, figures.schema, milliseconds),
        distribution,
        rows: await auditRows(area, events),
        behind: listing.asOf(),
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
      text: message('Register the first app that people sign in to, or a service'),
      href: uri('/clients/new'),
      done: had.clients > 0,
    },
    { text: message('Register the people who may sign in'), href: uri('/users/new'), done: had.users > 1 },
    {
      text: message('Sign in to the app, and find it in the audit log'),
      href: uri('/audit'),
      done: had.issued > 0,
    },
  ]
  return steps.slice(0, 2).every(({ done }) => done) ? [] : steps
}

function healthOf(
  { keys, load, database, listings }: Kernel,
  schema: string,
  milliseconds: number,
): HealthView[] {
  const { connections, hashing, changesAge } = load()
  const current = keys.keys().filter((key) => keys.stateOf(key) === 'current')
  const ages = current.map(({ algorithm, signsFrom }) => ageOf(algorithm, signsFrom))
  return [
    {
      name: message('Database'),
      well: true,
      text: message('{database} answers in {milliseconds} ms', { database: database.where, milliseconds }),
    },
    ...replicaHealth(listings.state()),
    {
      name: message('Connections of this process'),
      well: connections.waiting === 0,
      text: message(
        '{total} open, {idle} idle, {waiting, plural, one {# request} other {# requests}} waiting for one',
        connections,
      ),
    },
    {
      name: message('Changes of other processes'),
      well: changesAge !== undefined && changesAge < 5,
      text:
        changesAge === undefined
          ? message('not read yet')
          : message('read {seconds, number} s ago', { seconds: Math.round(changesAge * 10) / 10 }),
    },
    {
      name: message('Passwords being checked'),
      well: hashing.waiting < 20,
      text: message('{running} now, {waiting} waiting', {
        running: hashing.running,
        waiting: hashing.waiting,
      }),
    },
    { name: message('Signing keys in use'), well: true, text: message('{ages}', { ages }) },
    { name: message('Schema'), well: true, text: schema.replace(/^Migration/, '') },
  ]
}

/** Nothing where there is none. */
function replicaHealth(state: ListingState | null): HealthView[] {
  if (state === null) return []
  const { where, problem, behind } = state
  const seconds = Math.round(behind ?? 0)
  return [
    {
      name: message('Replica for lists'),
      well: problem === null,
      text:
        problem === null
          ? message(
              '{replica} is {seconds, plural, =0 {up to date} one {# second behind} other {# seconds behind}}',
              {
                replica: where,
                seconds,
              },
            )
          : message(
              '{replica} is not used, lists come from the primary: <code>latchkey doctor</code> says why',
              {
                replica: where,
              },
            ),
    },
  ]
}

function ageOf(algorithm: string, signsFrom: number): Message {
  const days = Math.max(0, Math.floor((Date.now() - signsFrom) / DAY))
  return message('{algorithm} {days, plural, =0 {since today} one {for # day} other {for # days}}', {
    algorithm,
    days,
  })
}
