/**
 * A page with one script, on a port of its own: the port is part of the origin, so every server has fresh storage.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface PageServer {
  readonly url: string
  readonly close: () => Promise<void>
}

const headers = {
  // The page is isolated from others, which gives it exact clocks and shared memory.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cache-control": "no-store",
}

const html = `<!doctype html><meta charset="utf-8"><title>skein</title><script type="module" src="/script.js"></script>`

/** Serves `script` as the module of an otherwise empty page, on localhost, which browsers take for a secure context. */
export const servePage = async (script: string): Promise<PageServer> => {
  const files: Readonly<Record<string, readonly [type: string, body: string]>> = {
    "/": ["text/html; charset=utf-8", html],
    "/script.js": ["text/javascript; charset=utf-8", script],
  }
  const server = createServer(({ url = "/" }, response) => {
    const file = files[new URL(url, "http://localhost").pathname]
    if (file === undefined) return response.writeHead(404, headers).end()
    return response.writeHead(200, { ...headers, "content-type": file[0] }).end(file[1])
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://localhost:${port}/`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
