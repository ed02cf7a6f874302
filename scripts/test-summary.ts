import type { Reporter, TestCase, TestModule } from "vitest/node"

/**
 * Ends a test run with one plain line, `12 passed, 0 failed`, for whoever reads only the last line.
 *
 * A run in which no test passed fails: a pattern that matches nothing must not look like success.
 */
export class TestSummary implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>) {
    const tests: ReadonlyArray<TestCase> = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length

    const passed = count("passed")
    // What breaks outside a test is a failure as well: a file that cannot be loaded, a set-up, a promise nobody waited for.
    const outside = modules.flatMap((module) => [module, ...module.children.allSuites()])
    const failed = count("failed") + errors.length + outside.filter((part) => part.errors().length > 0).length
    const skipped = tests.length - passed - count("failed")

    if (passed === 0 || failed > 0) process.exitCode = 1
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`)
  }
}
