/**
 * What is said in the demo. A real agent would ask a model.
 */
import type { Json } from "@skein/core/storage"

export const prompt = "It hangs. Can you run it in the background?"

export const answer: Json = {
  role: "assistant",
  content: [
    { type: "text", text: "Started in the background; I look at its log." },
    { type: "tool-call", id: "call_demo_1", name: "bash", input: { command: "nohup ./long-job & tail log" } },
    { type: "tool-result", callId: "call_demo_1", name: "bash", output: "step 1 of 30" },
  ],
}

export const editedPrompt = "Never mind the long job. Which of its steps can be skipped?"

export const editedAnswer: Json = {
  role: "assistant",
  content: "Steps 4 to 27 only fill a cache. Without them it takes eight seconds.",
}

export const summary = "A long job hung. Its steps 4 to 27 only fill a cache: skip them."

export const lastPrompt = "Good. Do that."

export const lastAnswer: Json = { role: "assistant", content: "Done: it took 7.9 seconds." }
