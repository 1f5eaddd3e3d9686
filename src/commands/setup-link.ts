/** `setup-link`: prints a link for the first administrator, on the terminal of who runs the server and nowhere else. */
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { setupAddress } from '../services/users/first-administrator.ts'
import { print, withServer } from './run.ts'

export async function setupLink(json = false): Promise<void> {
  const work = async ({ firstAdministrator, issuer }: Kernel): Promise<void> => {
    const code = await firstAdministrator.invite()
    if (code === null) throw new ConfigError('There is an administrator already: they can name others.')
    const link = setupAddress(issuer, code)
    print({ link }, [link], json)
  }
  await withServer(work, { begins: true })
}
