#!/usr/bin/env node
/**
 * The `latchkey` command: the compiled server of an installed package, or the sources of a checkout. Those want a newer
 * Node than many machines have; a checkout's command runs on the Node that `npm ci` has brought, whatever called it.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Of `engines` in package.json: the first Node that runs TypeScript as it is. */
const OLDEST = [24, 12]

const sources = pathOf('../src/main.ts')
const brought = pathOf('../node_modules/.bin/node')
const inCheckout = existsSync(sources)

if (isRecent(process.versions.node)) await import(inCheckout ? sources : pathOf('../dist/src/main.js'))
else if (inCheckout && existsSync(brought)) runOn(brought)
else {
  console.error(
    `Latchkey needs Node ${OLDEST.join('.')} or newer, and this is ${process.versions.node}. ` +
      (inCheckout ? '`npm ci` brings one.' : 'Install a newer one, and run this again.'),
  )
  process.exitCode = 1
}

function pathOf(relative) {
  return fileURLToPath(new URL(relative, import.meta.url))
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** In its place: what this process is told by a signal, that one hears; how that one ends, this one does. */
function runOn(node) {
  const child = spawn(node, [sources, ...process.argv.slice(2)], { stdio: 'inherit' })
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('exit', (status, signal) => {
    for (const one of signals) process.removeAllListeners(one)
    if (signal !== null) process.kill(process.pid, signal)
    else process.exitCode = status
  })
}
