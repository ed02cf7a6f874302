import { suite } from "@skein/contract-tests/suite"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { harnessOn } from "./harness.ts"

suite("indexeddb, on fake-indexeddb", harnessOn({ factory: new IDBFactory(), keyRange: IDBKeyRange }, "law"))
