/**
 * What the compiler cannot say about this code: which way its arrows point, and what a file of a given name may contain.
 *
 * An override replaces a rule of the base and of the overrides before it, it does not add to it. So every list below is
 * built from parts, and the last override that matches a file carries everything that holds for it.
 */

/** Imports that are wrong everywhere: the barrels multiply what a browser has to load. */
const barrels = [
  { name: "effect", message: 'Import the module: import * as Effect from "effect/Effect".' },
  { name: "zod", message: 'Import the small build: import * as z from "zod/mini".' },
  { name: "zod/v4", message: 'Import the small build: import * as z from "zod/mini".' },
]

const outside = {
  group: ["**/examples/**", "**/bench/**", "**/test/**", "**/scripts/**"],
  message: "Packages do not import what stands around them.",
}

/** `only("core")`: of the workspace, a package may import these and nothing else, and nothing by way of the file system. */
const only = (...names) => ({
  group: [
    "@skein/**",
    ...names.flatMap((name) => [`!@skein/${name}`, `!@skein/${name}/**`]),
    "**/packages/**",
    "**/adapter-*/**",
    "**/plugin-*/**",
    "**/contract-tests/**",
  ],
  message: `Arrows point inward: this package may import ${names.map((name) => `@skein/${name}`).join(", ") || "no other"}.`,
})

const imports = (...patterns) => ["error", { paths: barrels, patterns }]

const globals = (message, ...names) => ["error", ...names.map((name) => ({ name, message }))]

const platform = [
  "Buffer",
  "BroadcastChannel",
  "document",
  "fetch",
  "indexedDB",
  "localStorage",
  "location",
  "navigator",
  "process",
  "Request",
  "Response",
  "self",
  "sessionStorage",
  "setImmediate",
  "window",
  "Worker",
]

const impure = [
  "clearInterval",
  "clearTimeout",
  "console",
  "crypto",
  "Date",
  "globalThis",
  "performance",
  "Promise",
  "queueMicrotask",
  "setInterval",
  "setTimeout",
]

const core = only()

export default {
  plugins: ["import", "typescript", "unicorn", "oxc", "vitest"],
  jsPlugins: ["./scripts/lint/skein.mjs"],
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: ["**/dist/**", "test/fixtures/**"],
  options: { reportUnusedDisableDirectives: "error" },
  rules: {
    "eslint/no-restricted-imports": imports(),
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "typescript/no-explicit-any": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-empty-object-type": "error",
    "vitest/no-focused-tests": "error",

    // A program that only writes is a generator that never yields.
    "eslint/require-yield": "off",
    // The same service or table is bound to the same name in every scope that uses it.
    "eslint/no-shadow": "off",
    // A property that fast-check runs, or a helper that asserts, is an assertion this rule does not see.
    "vitest/expect-expect": "off",
    // A helper stands beside its only use; whether it could stand further out is the author's choice.
    "unicorn/consistent-function-scoping": "off",
    // Loops here wait for what other code changes.
    "eslint/no-unmodified-loop-condition": "off",
    "unicorn/no-new-array": "off",
    // `_tag` is how errors are told apart.
    "eslint/no-underscore-dangle": "off",
  },
  overrides: [
    {
      files: ["packages/*/src/**"],
      rules: { "eslint/no-console": "error", "eslint/no-restricted-imports": imports(outside, only("core")) },
    },
    {
      files: ["packages/core/src/**"],
      rules: {
        "eslint/no-restricted-imports": imports(outside, core),
        "eslint/no-restricted-globals": globals(
          "core has no platform: take it as an argument or a service.",
          ...platform,
        ),
      },
    },
    {
      // Everything that has to run in a page. Of the import plug-in only the entry that knows a database file is Node's.
      files: ["packages/{core,adapter-memory,adapter-indexeddb,contract-tests}/src/**", "packages/plugin-*/src/*.ts"],
      rules: { "import/no-nodejs-modules": "error" },
    },
    {
      files: ["packages/core/src/*/model.ts"],
      rules: {
        "eslint/no-restricted-imports": imports(outside, core, {
          group: ["effect/**", "**/program.ts", "**/service.ts", "**/storage/*", "!**/storage/table.ts"],
          message: "A model says what is stored: schemas and tables, no behaviour.",
        }),
      },
    },
    {
      // A program by its name, or one of a concept whose programs fill more than a file.
      files: [
        "packages/core/src/*/program.ts",
        "packages/core/src/message/{path,tree,placement,view}.ts",
        "packages/core/src/session/{list,tree}.ts",
        "packages/core/src/history/{boundary,rounds,stretches}.ts",
        "packages/core/src/queue/{claim,dispatch,line,state}.ts",
        "packages/core/src/import/continuation.ts",
        "packages/core/src/usage/{counting,ledger,summary,verify}.ts",
      ],
      rules: {
        "eslint/no-restricted-imports": imports(outside, core, {
          group: ["effect/**", "!effect/Data", "**/service.ts", "**/storage/storage.ts", "**/storage/backend.ts"],
          message: "A program is pure: it reads rows, decides and names writes. Time and ids are its arguments.",
        }),
        "eslint/no-restricted-globals": globals(
          "A program is pure: give it this as an argument.",
          ...platform,
          ...impure,
        ),
        "eslint/no-restricted-properties": [
          "error",
          { object: "Math", property: "random", message: "A program is pure: give it this as an argument." },
        ],
        "skein/pure-program": "error",
      },
    },
    {
      files: ["packages/core/src/*/service.ts"],
      rules: {
        "eslint/no-restricted-imports": imports(outside, core, {
          group: ["../*/service.ts"],
          message: "Services compose programs, in one commit: import the other concept's program.ts or model.ts.",
        }),
      },
    },
  ],
}
