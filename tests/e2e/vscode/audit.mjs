/**
 * What can be measured of a page for those who hear it, see little contrast, or use no mouse: the rules of axe-core, the
 * tree that screen readers get, what live regions say, contrasts, times of frames. Knows nothing of North.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { chooseTheme } from "./controls.mjs";

const bed = createRequire(process.execPath);
const rules = await readFile(bed.resolve("axe-core/axe.min.js"), "utf8");

/** The color themes that VS Code has by default, by their kinds. */
export const THEMES = ["Dark 2026", "Light 2026", "Dark High Contrast", "Light High Contrast"];

/**
 * Choose each of the themes in VS Code, and keep what the page gets from it: with `wear`, the page looks so again at once.
 * The first one stays.
 */
export async function recordThemes(page, locator) {
  const recorded = [];
  for (const label of [...THEMES.slice(1), THEMES[0]]) {
    await chooseTheme(page, locator, label);
    const { classes, variables } = await locator.locator("body").evaluate((body) => ({
      classes: body.className,
      variables: document.documentElement.style.cssText,
    }));
    recorded.push({ label, classes, variables });
  }
  return recorded;
}

/** The color behind the page, which has none of its own, is that of a variable. */
export async function wear(frame, { classes, variables }, behind) {
  await frame.evaluate(([classes, variables, behind]) => {
    document.body.className = classes;
    document.documentElement.style.cssText = variables;
    document.documentElement.style.background = `var(${behind})`;
  }, [classes, variables, behind]);
}

/** The frame of a locator's document: what the CDP and whole scripts need. */
export async function frameOf(locator) {
  const body = await locator.locator("body").elementHandle();
  return body.ownerFrame();
}

/**
 * What axe-core holds for serious or critical, one text for each element.
 *
 * Evaluated by the browser's own means: a page's policy against scripts does not have to be loosened. Rules in `leaveOut`
 * are not looked at; `isFine({ id, selector })` runs in the page, and leaves out what is meant to be as it is.
 */
export async function violations(frame, { within = "body", leaveOut = [], isFine = () => false } = {}) {
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(rules);
  const found = await frame.evaluate(async (context) => {
    const result = await window.axe.run(context, { preload: false, iframes: false, resultTypes: ["violations"] });
    return result.violations.flatMap(({ id, impact, help, nodes }) =>
      nodes.map(({ target, html, failureSummary }) => ({ id, impact, help, html, selector: target.join(" "), why: failureSummary })));
  }, within);
  const wrong = [];
  for (const one of found) {
    if (!["serious", "critical"].includes(one.impact) || leaveOut.includes(one.id)) continue;
    if (await frame.evaluate(isFine, one)) continue;
    wrong.push(`${one.id} (${one.impact}): ${one.selector}\n    ${one.html.slice(0, 200)}\n    ${one.why.replaceAll("\n", " ")}`);
  }
  return wrong;
}

/** The tree that screen readers get of a frame: nodes with `role`, `name`, what else is said of them, and `children`. */
export async function accessibilityTree(page, frame) {
  const { client, frameId } = await sessionOf(page, frame);
  try {
    const { nodes } = await client.send("Accessibility.getFullAXTree", { frameId });
    const byId = new Map(nodes.map((node) => [node.nodeId, node]));
    const made = (node) => {
      const children = (node.childIds ?? []).flatMap((id) => (byId.has(id) ? made(byId.get(id)) : []));
      if (node.ignored || ["none", "InlineTextBox"].includes(node.role?.value)) return children;
      const said = Object.fromEntries((node.properties ?? []).map(({ name, value }) => [name, value.value]));
      return [{ role: node.role?.value ?? "", name: node.name?.value ?? "", said, children }];
    };
    const roots = nodes.filter((node) => node.parentId === undefined || !byId.has(node.parentId));
    return roots.flatMap(made);
  } finally {
    await client.detach();
  }
}

/** A session for a frame, which may have a process of its own or share that of one around it, and its id there. */
async function sessionOf(page, frame) {
  // The addresses do not tell frames apart: what is written into a frame has that of the frame around it.
  const path = [];
  let client;
  for (let one = frame; client === undefined; one = one.parentFrame()) {
    client = await page.context().newCDPSession(one.parentFrame() === null ? page : one).catch(() => undefined);
    if (client === undefined) path.unshift(one.parentFrame().childFrames().indexOf(one));
  }
  const { frameTree } = await client.send("Page.getFrameTree");
  const found = path.reduce((tree, index) => tree?.childFrames?.[index], frameTree);
  if (found === undefined) throw new Error(`no frame at ${path} in ${JSON.stringify(frameTree)}`);
  return { client, frameId: found.frame.id };
}

/** All nodes of a tree, each with the nodes that it is in. */
export function flat(nodes, above = []) {
  return nodes.flatMap((node) => [{ ...node, above }, ...flat(node.children, [...above, node])]);
}

/** A tree as lines: what to read with one's own eyes. */
export function outline(nodes, depth = 0) {
  const kept = ["expanded", "disabled", "focusable", "checked", "live", "hasPopup"];
  return nodes.map(({ role, name, said, children }) => {
    const more = kept.filter((key) => said[key] !== undefined && said[key] !== false).map((key) => (said[key] === true ? key : `${key}=${said[key]}`));
    const words = role === "StaticText" && children.length === 0 ? JSON.stringify(name.slice(0, 80)) : `${role} ${JSON.stringify(name.slice(0, 120))} ${more.join(" ")}`;
    return `${"  ".repeat(depth)}${words.trimEnd()}\n${outline(children.filter((child) => child.name !== name || child.role !== "StaticText"), depth + 1)}`;
  }).join("");
}

const CONTROLS = ["button", "link", "textbox", "combobox", "checkbox", "radio", "option", "menuitem", "tab", "switch", "slider", "treeitem", "disclosuretriangle"];

/** What is wrong with a tree: controls and places for the focus without a name, lists without items, items without a list. */
export function faults(nodes) {
  return flat(nodes).flatMap(({ role, name, said, above, children }) => {
    const place = above.map((node) => `${node.role} ${node.name.slice(0, 30)}`).join(" > ");
    const wrong = [];
    const isControl = CONTROLS.includes(role.toLowerCase());
    if (name.trim() === "" && (isControl || (said.focusable === true && role !== "RootWebArea"))) wrong.push(`${role} without a name in ${place}`);
    const parent = above.at(-1)?.role;
    if (role === "listitem" && parent !== "list") wrong.push(`a listitem in ${parent}: ${place}`);
    if (role === "list" && !children.every((child) => child.role === "listitem")) wrong.push(`a list with others than items: ${place}`);
    if (role === "option" && parent !== "listbox") wrong.push(`an option in ${parent}: ${place}`);
    if (role === "feed" && !flat(children).some((node) => node.role === "article")) wrong.push(`a feed without articles: ${place}`);
    return wrong;
  });
}

/** Hear what live regions say from now on; the answer asks for it: `{ region, text }`, one for each change that has words. */
export async function listen(frame) {
  await frame.evaluate(() => {
    window.heard = [];
    window.hearing?.disconnect();
    window.hearing = new MutationObserver((records) => {
      for (const region of new Set(records.map(({ target }) => (target instanceof Element ? target : target.parentElement)?.closest("[data-heard]")))) {
        const text = region?.textContent?.trim() ?? "";
        if (text !== "") window.heard.push({ region: region.id, text, politeness: region.dataset.heard });
      }
    });
    for (const region of document.querySelectorAll("[aria-live], [role=status], [role=alert], [role=log], output")) {
      const implied = { alert: "assertive", status: "polite", log: "polite" }[region.getAttribute("role")] ?? "polite";
      const politeness = region.getAttribute("aria-live") ?? implied;
      if (politeness === "off") continue;
      region.dataset.heard = politeness;
      window.hearing.observe(region, { childList: true, characterData: true, subtree: true });
    }
  });
  return () => frame.evaluate(() => window.heard);
}

/**
 * The contrast of each piece of text and each icon that can be seen, and of the ring of the focus: `{ kind, ratio, example, least }`.
 *
 * `kinds`: selectors and what they are called, the first one that fits an element or one around it counts. What is disabled or `visually-hidden` needs no contrast.
 */
export function contrasts(frame, kinds) {
  return frame.evaluate((kinds) => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const read = (color) => {
      if (known.has(color)) return known.get(color);
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = "#00000000";
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
      const made = [red, green, blue, alpha / 255];
      known.set(color, made);
      return made;
    };
    const over = ([red, green, blue, alpha], under) => [red, green, blue].map((value, index) => value * alpha + under[index] * (1 - alpha));
    const luminance = (color) => {
      const [red, green, blue] = color.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const ratio = (one, other) => {
      const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    };
    const under = (element) => {
      const layers = [];
      for (let one = element; one !== null; one = one.parentElement) {
        const color = read(getComputedStyle(one).backgroundColor);
        layers.push(color);
        if (color[3] === 1) break;
      }
      return layers.reverse().reduce((color, layer) => over(layer, color), [255, 255, 255]);
    };
    const opacity = (element) => {
      let all = 1;
      for (let one = element; one !== null; one = one.parentElement) all *= Number(getComputedStyle(one).opacity);
      return all;
    };
    const kindOf = (element) => kinds.find(([selector]) => element.closest(selector) !== null)?.[1] ?? "other";
    const found = [];
    const note = (element, kind, color, example, least) => {
      const background = under(element);
      const [red, green, blue, alpha] = read(color);
      found.push({ kind, example, least, ratio: ratio(over([red, green, blue, alpha * opacity(element)], background), background) });
    };
    const isSeen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.closest(".visually-hidden, :disabled") === null;
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = words.nextNode(); text !== null; text = words.nextNode()) {
      const element = text.parentElement;
      if (text.data.trim() === "" || element.closest("script, style") !== null || !isSeen(element)) continue;
      note(element, kindOf(element), getComputedStyle(element).color, text.data.trim().slice(0, 30), 4.5);
    }
    for (const icon of document.querySelectorAll(".codicon")) if (isSeen(icon)) note(icon, `icon: ${kindOf(icon)}`, getComputedStyle(icon).color, icon.className, 3);
    for (const input of document.querySelectorAll("input[placeholder], textarea[placeholder]")) {
      if (isSeen(input) && input.value === "") note(input, "placeholder", getComputedStyle(input, "::placeholder").color, input.placeholder, 4.5);
    }
    for (const button of document.querySelectorAll("button")) {
      if (!isSeen(button)) continue;
      const isFilled = !button.matches(".secondary, .plain, .picker");
      note(isFilled ? button.parentElement : button, "ring of the focus", getComputedStyle(button).outlineColor, button.textContent, 3);
    }
    return found;
  }, kinds);
}

/** The least contrast of each kind in each theme: `measured` has one list of contrasts for each theme's label. */
export function contrastTable(measured) {
  const themes = [...measured.keys()];
  const kinds = [...new Set([...measured.values()].flat().map(({ kind }) => kind))].sort();
  const least = (theme, kind) => Math.min(...measured.get(theme).filter((one) => one.kind === kind).map(({ ratio }) => ratio));
  const row = (cells) => `| ${cells.join(" | ")} |`;
  const number = (value) => (Number.isFinite(value) ? value.toFixed(1) : "–");
  return [row(["contrast", ...themes]), row(["---", ...themes.map(() => "---:")]), ...kinds.map((kind) => row([kind, ...themes.map((theme) => number(least(theme, kind)))]))].join("\n");
}

/** Times of the frames since the last call, in milliseconds. */
export async function frameTimes(frame) {
  const times = await frame.evaluate(() => {
    const before = window.frameTimes ?? [];
    window.frameTimes = [];
    if (window.framesRun === undefined) {
      window.framesRun = true;
      let last = performance.now();
      const next = (now) => {
        window.frameTimes.push(now - last);
        last = now;
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    }
    return before;
  });
  times.sort((a, b) => a - b);
  const at = (part) => Math.round(times[Math.floor((times.length - 1) * part)] ?? 0);
  return `frames ${at(0.5)} ms median, ${at(0.95)} ms p95, ${at(1)} ms worst of ${times.length}`;
}
