/**
 * Whom PostgreSQL runs as: it refuses root, so a root server borrows an unprivileged account; everybody else
 * stays as they are.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

/** `uid` and `gid` are set only where we are root and have to become somebody else. */
export interface Account {
  name: string
  uid?: number
  gid?: number
}

/**
 * Nothing of our own environment reaches PostgreSQL: PG* variables would redirect it, and TZ spares initdb a
 * slow search.
 */
export const environment = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', TZ: 'UTC', LC_ALL: 'C' }

/**
 * @throws Error when no account that PostgreSQL would accept exists on this machine, or we may not become it
 */
export async function chooseAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return { name: ownName() }
  const accounts = await readAccounts()
  const account =
    accounts.find(({ name }) => name === 'postgres') ??
    accounts.find(({ name, uid }) => name === 'nobody' && uid > 0) ??
    accounts.find(({ uid }) => uid > 0)
  if (!account)
    throw new Error('PostgreSQL refuses to run as root and /etc/passwd has no other user: set DATABASE_URL.')
  const { status, output } = await run(account, '/bin/sh', ['-c', ':'])
  if (status === 0) return account
  const { name } = account
  throw new Error(
    `PostgreSQL refuses to run as root, and we may not become ${name} (${output}): set DATABASE_URL.`,
  )
}

/** The account that owns an existing cluster: PostgreSQL accepts no other. */
export async function accountOfOwner(uid: number, gid: number): Promise<Account> {
  const known = (await readAccounts()).find((account) => account.uid === uid)
  return { name: known?.name ?? `uid ${uid}`, uid, gid: known?.gid ?? gid }
}

/**
 * Runs a program to its end under the account, from `/`, since our own directory may be closed to it.
 * Never throws: `status` is -1 when it could not be started.
 */
export async function run(
  account: Account,
  file: string,
  args: string[],
): Promise<{ status: number; output: string }> {
  const options = { ...identity(account), cwd: '/', env: environment, maxBuffer: 1 << 20 }
  try {
    const { stdout, stderr } = await promisify(execFile)(file, args, options)
    return { status: 0, output: `${stdout}${stderr}`.trim() }
  } catch (error) {
    const {
      code,
      stdout = '',
      stderr = '',
      message,
    } = error as { code?: unknown; stdout?: string; stderr?: string; message: string }
    if (typeof code === 'number') return { status: code, output: `${stdout}${stderr}`.trim() }
    return { status: -1, output: message }
  }
}

/** The options of `child_process` that make a child run as the account. */
export function identity({ uid, gid }: Account): { uid?: number; gid?: number } {
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

async function readAccounts(): Promise<Required<Account>[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  return lines
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

function ownName(): string {
  try {
    return userInfo().username
  } catch (cause) {
    const uid = process.getuid?.()
    const sentence = `PostgreSQL needs a name for user ${uid}: add it to /etc/passwd or set DATABASE_URL.`
    throw new Error(sentence, { cause })
  }
}
