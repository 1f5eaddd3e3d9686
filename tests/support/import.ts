/** `import FILE` as tests run it: the dump from memory, the report as an object, and no secret in what is printed. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { temporaryDirectory } from './cleanup.ts'
import { runCommandHere } from './command-here.ts'
import type { TestDatabase } from './database.ts'
import type { Settings } from './settings.ts'
import { findSecrets } from './traces.ts'

export const PASSWORD = 'correct horse battery'
/** As django-oidc-provider generates them: SHA-224 in hexadecimal. */
export const SECRET = 'c4ca4238a0b923820dcc509a6f75849b1f0e3dad9eae0cfd2b1b5a9f'
export const SECRETS = new Map([['password', PASSWORD], ['secret', SECRET]]) // prettier-ignore
export const CALLBACK = 'https://app.example/callback'
export const CODE = { client_secret: SECRET, _redirect_uris: CALLBACK }

let suffix = 0
/** A name that no other test of the file uses. */
export const unique = (name: string): string => `${name}-${++suffix}`

/** What is stored of the user's password. */
export async function storedHash({ query }: TestDatabase, username: string): Promise<string | null> {
  const rows = await query<{ hash: string | null }>(
    'select password_hash as hash from users where username = $1',
    [username],
  )
  return rows[0]!.hash
}

export interface Report {
  status: number | null
  stderr: string
  dry_run: boolean
  clients: Record<string, number>
  users: Record<string, number>
  ignored: Record<string, number>
  records: { record: number; model: string; name?: string; action: string; notes: string[] }[]
}

export interface Importer {
  /** The path of a file with this content. */
  write(content: unknown): Promise<string>
  runImport(content: unknown, ...options: string[]): Promise<Report>
  /** The notes of the one record that is not a response type. */
  notesOf(content: unknown[], ...options: string[]): Promise<string[]>
}

export function importer(settings: Settings): Importer {
  async function write(content: unknown): Promise<string> {
    const file = join(await temporaryDirectory(), 'dump.json')
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content, undefined, 1))
    return file
  }

  async function runImport(content: unknown, ...options: string[]): Promise<Report> {
    const args = ['import', await write(content), '--json', ...options]
    const { status, stdout, stderr } = await runCommandHere(args, settings)
    expect(findSecrets(stdout + stderr, SECRETS)).toEqual([])
    expect([stderr, stdout.split('\n').length]).toEqual([stderr, 2])
    return { status, stderr, ...(JSON.parse(stdout) as Omit<Report, 'status' | 'stderr'>) }
  }

  async function notesOf(content: unknown[], ...options: string[]): Promise<string[]> {
    const { records } = await runImport(content, ...options)
    expect(records).toHaveLength(1)
    return records[0]!.notes
  }

  return { write, runImport, notesOf }
}
