/**
 * An agent in a process of its own: it runs one turn of a session and writes message after message, until it has said all
 * that it has to say, or somebody stops it. Its first call of a tool is never answered.
 */
import { start } from "./processes.ts"
import type { Child } from "./processes.ts"

export interface AgentOptions {
  readonly path: string
  readonly session: string
  /** What its messages and its call are called: `<name>-1` and so on. */
  readonly name: string
  /** The length of the lease of its turns, in milliseconds. Absent: as long as the engine says. */
  readonly lease?: number
  /** How many messages it has to say. Absent: it never comes to an end. */
  readonly messages?: number
}

export interface AgentReport {
  readonly epoch: number
  /** How its turn ended for it: `completed`, or the name of what it failed with. */
  readonly ended: string
  /** When its signal fired, in milliseconds since 1970. */
  readonly signalledAt?: number
  /** The longest time that its event loop stood still, in milliseconds: its lease may have run out meanwhile. */
  readonly longestGap: number
  /** The id of the last message that it began to write. */
  readonly drafted: string | undefined
  /** Ids of the messages that were acknowledged. */
  readonly stored: ReadonlyArray<string>
  /** How everything ended that it tried to write once its turn was over. */
  readonly afterwards: Readonly<Record<string, string>>
}

/** Starts one and waits until it is in the midst of its turn. */
export const startAgent = async (options: AgentOptions): Promise<Child> => {
  const agent = start("agent", options)
  await agent.ready
  agent.go()
  await agent.news
  return agent
}

/** What it reports when its turn is over. */
export const reportOf = (agent: Child): Promise<AgentReport> => agent.result as Promise<AgentReport>
