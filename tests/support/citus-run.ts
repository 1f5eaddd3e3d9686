/** Three servers of Citus for a run of the tests with TEST_DISTRIBUTED=citus, and the template of its databases on each of them. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { distributeByCitus } from '../../src/store/distribution/citus.ts'
import { migrate } from '../../src/store/migrate.ts'
import { acquaint, closeToAll, startNode } from './citus-nodes.ts'
import type { RunServers } from './global-setup.ts'

export async function startCitusServers(): Promise<RunServers> {
  const bin = process.env['CITUS_BIN']
  if (bin === undefined) throw new Error('TEST_DISTRIBUTED=citus wants CITUS_BIN: see CONTRIBUTING.md.')
  const directories = await Promise.all([1, 2, 3].map(async () => mkdtemp(join(tmpdir(), 'latchkey-run-'))))
  const nodes = await Promise.all(
    directories.map(async (directory) => {
      await chmod(directory, 0o755)
      return startNode(bin, directory)
    }),
  )
  const [front, ...others] = nodes.map(({ url }) => url) as [string, ...string[]]
  return {
    url: front,
    others,
    async fill(template) {
      await acquaint(nodes, template)
      await migrate(template)
      const client = new pg.Client({ connectionString: template })
      await client.connect()
      await distributeByCitus(client)
      await client.end()
      await closeToAll([front, ...others], new URL(template).pathname.slice(1))
    },
    async stop() {
      for (const node of nodes) await node.stop('SIGQUIT')
      for (const directory of directories) await rm(directory, { recursive: true, force: true })
    },
  }
}
