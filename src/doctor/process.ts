/** What the process itself is: its Node, and its clock as far as it can be judged alone. */
import packageJson from 'latchkey/package.json' with { type: 'json' }
import { migrationNames } from '../migrations/names.ts'
import { fail, ok, type Finding } from './finding.ts'

export function examineProcess(now = Date.now()): Finding[] {
  return [examineNode(), examineClock(now)]
}

function examineNode(): Finding {
  const needed = packageJson.engines.node.replace(/^>=/, '')
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = needed.split('.').map(Number)
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor))
    return ok('Node', `Node ${process.versions.node} runs this.`)
  return fail('Node', `Node ${process.versions.node} is too old: install ${needed} or newer.`)
}

/** Nothing here is older than the newest migration, whose name is its day where it was written: tomorrow, for some. */
function examineClock(now: number): Finding {
  const [year, month, day] = /(\d{4})(\d\d)(\d\d)/.exec(migrationNames.at(-1)!)!.slice(1).map(Number)
  const written = Date.UTC(year!, month! - 1, day! - 1)
  const shown = new Date(now).toISOString()
  if (now >= written) return ok('clock', `It is ${shown}.`)
  return fail(
    'clock',
    `The clock says ${shown}, which is before this was written: set it, and let NTP keep it.`,
  )
}
