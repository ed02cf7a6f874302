import { defineConfig } from "vitest/config"
import { TestSummary } from "../../scripts/test-summary.ts"

/** Apart from the other tests, because these look at what `npm run build` has left in the packages' `dist`. */
export default defineConfig({
  test: {
    include: ["test/packaging/**/*.test.ts"],
    reporters: ["default", new TestSummary()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
