import { assert, describe, it } from "@effect/vitest"
import { lastPart, normalise } from "../../src/project/path.ts"

describe("paths", () => {
  it.each([
    ["/w/app", "/w/app"],
    ["/w/app/", "/w/app"],
    ["//w///app//", "/w/app"],
    ["/w/./app/.", "/w/app"],
    ["/w/x/../app", "/w/app"],
    ["/../..", "/"],
    ["/", "/"],
    ["app", "app"],
    ["./app/", "app"],
    ["../app", "../app"],
    ["a/../../b", "../b"],
    ["../../..", "../../.."],
    [".", "."],
    ["a/..", "."],
    ["", "."],
    ["/w/App", "/w/App"],
    ["/w/a\\b", "/w/a\\b"],
    ["/w/...", "/w/..."],
    ["/w/ a ", "/w/ a "],
    ["/w/é", "/w/é"],
  ])("PRJ-04 under POSIX %j is %j", (path, normal) => {
    assert.strictEqual(normalise(path, "posix"), normal)
    assert.strictEqual(normalise(normal, "posix"), normal)
  })

  it.each([
    ["C:\\Work\\App", "c:\\work\\app"],
    ["c:/code/app/", "c:\\code\\app"],
    ["C:\\\\Work\\.\\x\\..\\App\\", "c:\\work\\app"],
    ["\\\\?\\C:\\Work\\App", "c:\\work\\app"],
    ["\\\\.\\C:\\Work\\App", "c:\\work\\app"],
    ["//?/C:/Code/App", "c:\\code\\app"],
    ["C:\\..\\..", "c:\\"],
    ["C:\\", "c:\\"],
    ["C:", "c:\\"],
    ["C:app", "c:app"],
    ["\\\\Server\\Share", "\\\\server\\share\\"],
    ["\\\\Server\\Share\\", "\\\\server\\share\\"],
    ["//server/share/x/", "\\\\server\\share\\x"],
    ["\\\\?\\UNC\\Server\\Share\\x", "\\\\server\\share\\x"],
    ["\\\\server\\share\\..\\..\\x", "\\\\server\\share\\x"],
    ["\\\\?\\Volume{A-1}\\x", "\\\\?\\volume{a-1}\\x"],
    ["\\work", "\\work"],
    ["work/App", "work\\app"],
    ["..\\App", "..\\app"],
    ["", "."],
    ["C:\\ΟΔΟΣ", "c:\\οδοσ"],
    ["C:\\İ", "c:\\i̇"],
  ])("PRJ-04 under Windows %j is %j", (path, normal) => {
    assert.strictEqual(normalise(path, "windows"), normal)
    assert.strictEqual(normalise(normal, "windows"), normal)
  })

  it.each([
    ["/home/ada/app", "posix", "app"],
    ["/home/ada/app//", "posix", "app"],
    ["/", "posix", "/"],
    ["C:\\Work\\App\\", "windows", "App"],
    ["C:/Work/App", "windows", "App"],
    ["C:\\", "windows", "C:"],
  ] as const)("PRJ-03 a project of %j under %s is called %j", (path, style, name) => {
    assert.strictEqual(lastPart(path, style), name)
  })
})
