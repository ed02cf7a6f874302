/**
 * Imports the entries it is given, watching what a module might start while it loads: a timer, randomness, the clock, a
 * request. Prints what a package of ours did start, and which entries export nothing.
 */
import { writeSync } from "node:fs"

const started = []

const watch = (object, name) => {
  const original = object[name]
  object[name] = function (...args) {
    const ours = new Error("trace").stack.split("\n").find((line) => line.includes("/node_modules/@skein/"))
    if (ours !== undefined) started.push(`${name} ${ours.trim()}`)
    return Reflect.apply(original, this, args)
  }
}

for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"]) watch(globalThis, name)
for (const name of ["getRandomValues", "randomUUID"]) watch(crypto, name)
watch(Math, "random")
watch(Date, "now")

const empty = []
for (const entry of process.argv.slice(2)) {
  if (Object.keys(await import(entry)).length === 0) empty.push(entry)
}

// Whatever still holds the process open once loading is over was started by one of the imports.
await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
started.push(...process.getActiveResourcesInfo().filter((resource) => !["PipeWrap", "TTYWrap"].includes(resource)))

writeSync(1, JSON.stringify({ started, empty }))
process.exit()
