/** Lint rules of this project that no ready-made rule covers. */

const pureProgram = {
  meta: { docs: { description: "A program may not wait and may not swallow: no async, no await, no try." } },
  create(context) {
    const report = (what) => (node) =>
      context.report({ node, message: `A program is pure and may run again: no ${what} here.` })
    const ifAsync = (node) => node.async && report("async function")(node)
    return {
      FunctionDeclaration: ifAsync,
      FunctionExpression: ifAsync,
      ArrowFunctionExpression: ifAsync,
      AwaitExpression: report("await"),
      TryStatement: report("try"),
    }
  },
}

export default { meta: { name: "skein" }, rules: { "pure-program": pureProgram } }
