import { defineConfig } from "vitest/config"
import { TestSummary } from "./scripts/test-summary.ts"

export default defineConfig({
  test: {
    projects: ["packages/*", "test"],
    reporters: ["default", new TestSummary()],
  },
})
