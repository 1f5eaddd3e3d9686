/** Settings of plugins: read, refused in one sentence, told of where they are misspelt, and known to `doctor`. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Type } from 'typebox'
import type { TObject } from 'typebox'
import type { Finding } from '../../src/doctor/finding.ts'
import type { OAuth } from '../../plugins/oauth/index.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { createDatabase } from '../support/database.ts'
import { spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import type { Settings } from '../support/settings.ts'

const CANARY = 'canary-0123456789'
const SCHEMA = Type.Object({
  GREETING_WORD: Type.String({ default: 'hello', description: 'what people are greeted with' }),
  GREETING_KEY: Type.Optional(Type.String({ secret: true, minLength: 16, description: 'seals greetings' })),
  GREETING_MOST: Type.Integer({
    default: 3,
    minimum: 1,
    maximum: 9,
    unit: 'guests',
    description: 'greeted at once',
  }),
  GREETING_RATE: Type.Number({ default: 0.5, minimum: 0, maximum: 1, description: 'how many of them' }),
  GREETING_LOUD: Type.Boolean({ default: false, description: 'in capitals' }),
  GREETING_STYLE: Type.Enum(['short', 'long'], { default: 'short', description: 'how it is said' }),
  GREETING_NAMES: Type.Array(Type.String(), { default: [], description: 'who is greeted' }),
})

async function read(values: Settings, schema: TObject = SCHEMA): Promise<unknown> {
  let found: unknown
  await startServer(values, {
    extend: ({ oauth }) => {
      found = oauth.settings(schema)
    },
  })
  return found
}

test('a secret one may be in a file, and its name is known', async () => {
  const file = join(await temporaryDirectory(), 'key')
  await writeFile(file, `${CANARY}\n`)
  expect(await read({ GREETING_KEY_FILE: file })).toMatchObject({ GREETING_KEY: CANARY })
})

test('they are read from where those of the server are, as texts or as they are', async () => {
  expect(await read({})).toEqual({
    GREETING_WORD: 'hello', GREETING_MOST: 3, GREETING_RATE: 0.5, GREETING_LOUD: false, GREETING_STYLE: 'short', GREETING_NAMES: [],
  })
  const given = {
    GREETING_WORD: 'hi', GREETING_KEY: CANARY, GREETING_MOST: '5', GREETING_RATE: '0.25', GREETING_LOUD: 'TRUE', GREETING_STYLE: 'long',
    GREETING_NAMES: 'ann, ben',
  }
  expect(await read(given)).toEqual({
    ...given, GREETING_MOST: 5, GREETING_RATE: 0.25, GREETING_LOUD: true, GREETING_NAMES: ['ann', 'ben'],
  })
}) // prettier-ignore

test('their types follow from the schema', async () => {
  const typed = ({
    settings,
  }: Pick<OAuth, 'settings'>): [string, string | undefined, number, boolean, string[]] => {
    const { GREETING_WORD, GREETING_KEY, GREETING_MOST, GREETING_LOUD, GREETING_NAMES } = settings(SCHEMA)
    return [GREETING_WORD, GREETING_KEY, GREETING_MOST, GREETING_LOUD, GREETING_NAMES]
  }
  const { server } = await startServer({ GREETING_WORD: 'hi' })
  expect(typed(server.oauth)).toEqual(['hi', undefined, 3, false, []])
})

test.each<[Settings, string]>([
  [{ GREETING_MOST: '10' }, 'GREETING_MOST must be a whole number of guests from 1 to 9; it is "10".'],
  [{ GREETING_MOST: '1.5' }, 'GREETING_MOST must be a whole number of guests from 1 to 9; it is "1.5".'],
  [{ GREETING_RATE: 'half' }, 'GREETING_RATE must be a number from 0 to 1; it is "half".'],
  [{ GREETING_LOUD: 'yes' }, 'GREETING_LOUD must be true or false; it is "yes".'],
  [{ GREETING_STYLE: 'odd' }, 'GREETING_STYLE must be one of short, long; it is "odd".'],
  [{ GREETING_KEY: 'canary' }, 'GREETING_KEY must be a text of 16 characters or more.'],
])(
  'what does not fit is refused in one sentence, a secret without its value: %j',
  async (values, message) => {
    await expect(read(values)).rejects.toThrow(message)
  },
)

const word = (more: object = {}) => Type.String({ description: 'a word', ...more })
test.each<[string, TObject, string]>([
  ['one that must be set', Type.Object({ GREETING: word() }), 'GREETING must be set: a word.'],
  ['one of ours', Type.Object({ PORT: word() }), "The setting PORT is taken: it is the server's."],
  ['one that looks like ours', Type.Object({ OIDC_GREETING: word() }), "The setting OIDC_GREETING is taken: it is the server's."],
  ['no name of a setting', Type.Object({ greeting: word() }), 'The setting greeting must have a name of capitals, such as GREETING_LANGUAGE.'],
  ['one without words', Type.Object({ GREETING: Type.String() }), 'The setting GREETING needs a description, for who sets it.'],
  ['no text', Type.Object({ GREETING: Type.Object({}, { description: 'a word' }) }), 'The setting GREETING must be a text, a number, a boolean, an enum or a list of texts.'],
])('%s is refused at the start', async (_name, schema, message) => {
  await expect(read({}, schema)).rejects.toThrow(message)
}) // prettier-ignore

test('an app whose own plugins come after the server hears of nothing that they read', async () => {
  const extend = ({ oauth }: { oauth: OAuth }) => oauth.settings(SCHEMA)
  const { output } = await startServer({ GREETING_WORD: 'hi', GREETING_WROD: 'hi' }, { extend })
  const told = [...output().matchAll(/(\w+) is no setting/g)].map(([, name]) => name)
  expect(told).toEqual(['GREETING_WROD'])
})

test('a name has one owner', async () => {
  const extend = ({ oauth }: { oauth: OAuth }) => {
    oauth.settings(Type.Object({ GREETING: Type.Optional(word()) }))
    oauth.settings(Type.Object({ GREETING: Type.Optional(word()) }))
  }
  await expect(startServer({}, { extend })).rejects.toThrow('The setting GREETING is taken.')
})

/** A plugin of PLUGINS that exports what its settings are. */
async function writePlugin(members: string): Promise<string> {
  const file = join(await temporaryDirectory(), 'greeting.js')
  const settings = `{ type: 'object', required: ['GREETING_KEY'], properties: { ${members} } }`
  await writeFile(
    file,
    `export const settings = ${settings}
     export default async ({ oauth }) => { oauth.settings(settings) }`,
  )
  return file
}

const KEY = `GREETING_KEY: { type: 'string', secret: true, minLength: 16, description: 'seals greetings' }`
const MOST = `GREETING_MOST: { type: 'integer', default: 3, minimum: 1, maximum: 9, description: 'greeted at once' }`

test('a served process reads them from its environment, and tells of one that is misspelt', async () => {
  const PLUGINS = await writePlugin(`${KEY}, ${MOST}`)
  const given = { PLUGINS, GREETING_KEY: CANARY, GREETING_MOTS: '4', LOG_LEVEL: 'info' }
  const { output } = await spawnServer(given)
  expect(output()).toContain('GREETING_MOTS is no setting, and is ignored: the nearest is GREETING_MOST.')
  expect(output()).not.toContain('GREETING_KEY is no setting')
  expect(output()).not.toContain(CANARY)
})

test('who is refused for one is told which name was meant', async () => {
  const PLUGINS = await writePlugin(KEY)
  const { url } = await createDatabase()
  const given = { PLUGINS, DATABASE_URL: url, SECRET_KEY: 'k'.repeat(40), GREETING_KYE: CANARY }
  const { status, stderr } = await runCommandHere(['client', 'list'], given)
  expect([status, stderr.trim().split('\n')]).toEqual([
    1,
    [
      expect.stringContaining('GREETING_KYE is no setting, and is ignored: the nearest is GREETING_KEY.'),
      `The plugin ${PLUGINS} is refused: GREETING_KEY must be set: seals greetings.`,
    ],
  ])
})

async function examine(settings: Settings): Promise<string[]> {
  const database = await createDatabase()
  const given = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40), ...settings }
  const { stdout } = await runCommandHere(['doctor', '--json'], given)
  expect(stdout).not.toContain('canary')
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return findings
    .filter(({ check, says }) => check === 'plugins' || says.includes('GREETING'))
    .map(({ status, check, says }) => `${status} ${check}: ${says}`)
}

test('doctor knows them: what each is for, and what it is, unless that is a secret', async () => {
  const PLUGINS = await writePlugin(`${KEY}, ${MOST}`)
  expect(await examine({ PLUGINS, GREETING_KEY: CANARY, GREETING_MOTS: 4 })).toEqual([
    'warn settings: GREETING_MOTS is no setting, and is ignored: the nearest is GREETING_MOST.',
    `ok plugins: ${PLUGINS} can be loaded.`,
    'ok plugins: GREETING_KEY is set: seals greetings.',
    'ok plugins: GREETING_MOST is 3: greeted at once.',
  ])
  expect(await examine({ PLUGINS, GREETING_MOST: '10' })).toEqual([
    `ok plugins: ${PLUGINS} can be loaded.`,
    'fail plugins: GREETING_KEY must be set: seals greetings.',
    expect.stringContaining('fail plugins: GREETING_MOST must be a whole number from 1 to 9'),
  ])
})

test('doctor says which plugin cannot be loaded', async () => {
  expect(await examine({ PLUGINS: './nowhere.js' })).toEqual([
    expect.stringMatching(/^fail plugins: PLUGINS: \.\/nowhere\.js cannot be loaded \(.*\)\.$/),
  ])
})
