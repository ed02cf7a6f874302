/**
 * The seed of a test run: `SKEIN_SEED`, to repeat one, or else a new one. Failures name it.
 */
export const seedOfRun = (): number => {
  const given = process.env["SKEIN_SEED"]
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
}
