// Made by inner agent install: asks inner before each tool.
import { spawnSync } from "node:child_process"
export const inner = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { tool: input.tool, sessionID: input.sessionID, args: output.args ?? {}, directory }
    const r = spawnSync(@inner@, @words@, { input: JSON.stringify(call), encoding: "utf8" })
    if (r.error || r.status !== 0) throw new Error("inner: " + (r.error?.message ?? r.stderr))
    const answer = JSON.parse(r.stdout)
    if (answer.deny) throw new Error(answer.deny)
    if (answer.args) Object.assign(output.args, answer.args)
  },
})
