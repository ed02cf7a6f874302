import { defaultClientConditions, defaultServerConditions } from "vite"
import { defineProject } from "vitest/config"

/**
 * The settings every package's tests share: workspace packages are loaded from their sources, so a test never needs a
 * build and never sees an old one.
 */
export const project = (name: string) =>
  defineProject({
    resolve: { conditions: ["@skein/source", ...defaultClientConditions] },
    ssr: { resolve: { conditions: ["@skein/source", ...defaultServerConditions] } },
    test: { name, include: ["**/*.test.ts"], exclude: ["**/node_modules/**", "**/dist/**", "packaging/**"] },
  })
