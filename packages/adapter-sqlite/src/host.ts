/**
 * The name of this machine, as far as it can be told cheaply: processes with the same name have one wall clock.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { hostname } from "node:os"

/** What tells machines with one host name apart: the id of the installation, or else of this run of the system. */
const idFiles = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id"]

let known: string | undefined

/** Read when it is first asked for. The id itself is not given away: it is kept in rows, and the system calls it private. */
export const host = (): string =>
  (known ??= named(
    hostname(),
    idFiles.map(textOf).find((id) => id !== ""),
  ))

const named = (name: string, id: string | undefined): string =>
  id === undefined ? name : `${name}-${createHash("sha256").update(`skein:${id}`).digest("hex").slice(0, 16)}`

const textOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return ""
  }
}
