/** `import FILE`: clients and users from the JSON that Django's `dumpdata` writes, or with --dry-run what they would be. */
import { Command } from 'commander'
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { applyDump, type Imported, type Outcome } from '../import/apply.ts'
import type { Applied } from '../import/context.ts'
import { readDump } from '../import/dump.ts'
import { withJson } from './json-option.ts'
import { quote } from './quote.ts'
import { print, withServer } from './run.ts'

interface Options {
  dryRun?: boolean
  update?: boolean
  admins?: boolean
  json?: boolean
}

export function importCommand(): Command {
  const command = new Command('import')
    .argument(
      '<file>',
      'what dumpdata wrote of auth.user, oidc_provider.responsetype and oidc_provider.client',
    )
    .description('clients and users from Django with django-oidc-provider')
    .option('--dry-run', 'say what would be done, and do nothing')
    .option('--update', 'lay the file over those who are here already; else they are left alone')
    .option('--admins', 'superusers there become administrators here')
  return withJson(command).action(runImport)
}

/** Throws when a record was refused, after all others were applied: the status is then 1. */
async function runImport(file: string, options: Options): Promise<void> {
  const { dryRun = false, update = false, admins = false, json } = options
  const records = await readDump(file)
  const work = async ({ clients, users }: Kernel): Promise<void> => {
    const imported = await applyDump(records, { clients, users }, { dryRun, update, admins })
    print({ dry_run: dryRun, ...toWire(imported) }, toLines(imported, dryRun), json)
    const refused = imported.outcomes.filter(({ action }) => action === 'refuse').length
    if (refused > 0) throw new ConfigError(`${refused} of ${records.length} records were refused.`)
  }
  await withServer(work, { begins: true })
}

function toWire({ outcomes, ignored }: Imported): Record<string, unknown> {
  return {
    clients: count(outcomes, 'oidc_provider.client'),
    users: count(outcomes, 'auth.user'),
    ignored,
    records: outcomes,
  }
}

function count(outcomes: readonly Outcome[], model: string): Record<Applied['action'], number> {
  const counted = { create: 0, update: 0, keep: 0, refuse: 0 }
  for (const outcome of outcomes) if (outcome.model === model) counted[outcome.action]++
  return counted
}

const DONE = { create: 'created', update: 'updated', keep: 'kept', refuse: 'refused' }
const WOULD = {
  create: 'would be created',
  update: 'would be updated',
  keep: 'kept',
  refuse: 'would be refused',
}

function toLines({ outcomes, ignored }: Imported, dryRun: boolean): string[] {
  const words = dryRun ? WOULD : DONE
  const lines = outcomes.flatMap(({ record, model, name, action, notes }) => {
    const what = [model, name === undefined ? '' : quote(name)].filter((one) => one !== '')
    return [`record ${[record, ...what].join(' ')}: ${words[action]}`, ...notes.map((note) => `  ${note}`)]
  })
  const others = Object.entries(ignored).map(([model, number]) => `${number} of ${quote(model)}: ignored`)
  const sums = [
    ['clients', 'oidc_provider.client'],
    ['users', 'auth.user'],
  ].map(([label, model]) => {
    const counted = Object.entries(count(outcomes, model!)) as [Applied['action'], number][]
    return `${label}: ${counted.map(([action, number]) => `${number} ${words[action]}`).join(', ')}`
  })
  return [...lines, ...others, ...sums]
}
