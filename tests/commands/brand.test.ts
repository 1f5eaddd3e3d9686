/** `brand`: a folder for BRAND_DIRECTORY is begun, and what somebody has made there stays. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBrandDirectory } from '../../plugins/pages/brand/directory.ts'
import { TEMPLATES_VERSION } from '../../plugins/pages/brand/version.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'

const brand = async (...args: string[]) => runCommandHere(['brand', ...args], {})
const folder = join(await temporaryDirectory(), 'a', 'brand')

test('a folder is begun for the templates of this version, needs no database, and is taken', async () => {
  const { status, stdout, stderr } = await brand('init', folder)
  expect([status, stdout, stderr]).toEqual([
    0,
    `${folder}/brand.json is there. Now set BRAND_DIRECTORY=${folder}\n`,
    '',
  ])
  expect(JSON.parse(await readFile(join(folder, 'brand.json'), 'utf8'))).toEqual({
    templates: TEMPLATES_VERSION,
  })
  expect(await readBrandDirectory(folder)).toMatchObject({ style: null, strays: [] })
})

test('each of ours can be copied there, as it is', async () => {
  const names = JSON.parse((await brand('templates', '--json')).stdout) as string[]
  expect(names).toEqual(expect.arrayContaining(['layout', 'login', 'consent', 'error', 'sign-up']))
  for (const name of names) expect((await brand('template', name, folder)).status).toBe(0)
  const copied = await readdir(join(folder, 'templates'))
  expect(copied.toSorted()).toEqual(names.map((name) => `${name}.eta`).toSorted())
  const ours = await readFile(new URL('../../templates/login.eta', import.meta.url), 'utf8')
  expect(await readFile(join(folder, 'templates', 'login.eta'), 'utf8')).toBe(ours)
  expect((await readBrandDirectory(folder)).templates.size).toBe(names.length)
})

test('what is there stays', async () => {
  const file = join(folder, 'templates', 'login.eta')
  await writeFile(file, 'changed')
  for (const [args, path] of [
    [['template', 'login', folder], file],
    [['init', folder], join(folder, 'brand.json')],
  ] as const) {
    const { status, stdout, stderr } = await brand(...args)
    expect([status, stdout, stderr]).toEqual([1, '', `${path} is there already.\n`])
  }
  expect(await readFile(file, 'utf8')).toBe('changed')
})

test.each(['../login', 'admin-clients', 'constructor', 'login.eta', ''])('%j is no template to copy', async (name) => {
  const { status, stderr } = await brand('template', name, folder)
  expect([status, stderr]).toEqual([1, expect.stringContaining(`There is no template ${JSON.stringify(name)} to copy: there are layout, `)])
}) // prettier-ignore
