/** The Python that builds the server's wheel. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export const checkout = join(import.meta.dirname, "../..");

/** A Python that has pip: the one named, the checkout's own, or the system's. */
export function python() {
  const own = join(checkout, ".venv/bin/python");
  const named = [process.env.PYTHON, existsSync(own) ? own : undefined, "python3", "python"].filter(Boolean);
  const found = named.find((program) => {
    try {
      execFileSync(program, ["-m", "pip", "--version"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error("No Python with pip was found; name one in the variable PYTHON.");
  return found;
}
