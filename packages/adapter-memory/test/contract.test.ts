import { suite } from "@skein/contract-tests/suite"
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { make } from "../src/index.ts"

const megabyte = 1024 * 1024
const place = async (capacity = Infinity) => ({
  backend: Layer.succeed(Backend, await Effect.runPromise(make({ capacity }))),
})

suite("memory", { fresh: () => place(), small: () => place(4 * megabyte) })
