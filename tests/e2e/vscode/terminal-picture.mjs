/** A terminal's screen, with the escape sequences of its colors, as HTML. */

const NAMED = ["#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5"];
const BRIGHT = ["#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff"];

/** `foreground` and `background` are the terminal's own. */
export function terminalPage(screen, { foreground = "#e0e2ea", background = "#14161b" } = {}) {
  const lines = screen.replace(/\n$/, "").split("\n").map((line) => lineOf(line, { foreground, background }));
  const style = `margin: 0; padding: 12px; width: max-content; font: 14px/1.17 "DejaVu Sans Mono", monospace; color: ${foreground}; background: ${background}`;
  return `<!DOCTYPE html><body style="margin: 0"><pre style='${style}'>${lines.join("\n")}</pre></body>`;
}

/** Each line begins with the style that the one before ended with only if tmux says so: it does not. */
function lineOf(line, own) {
  let style = {};
  return line
    .split(/(\x1b\[[\d;:]*m|\x1b\]8;[^\x1b]*\x1b\\)/)
    .map((part) => {
      const codes = /^\x1b\[([\d;:]*)m$/.exec(part);
      if (codes !== null) style = styleAfter(style, codes[1].split(/[;:]/).map(Number));
      return part.startsWith("\x1b") ? "" : span(part, style, own);
    })
    .join("");
}

function span(text, style, own) {
  if (text === "") return "";
  const [front, back] = style.reverse ? [style.back ?? own.background, style.front ?? own.foreground] : [style.front, style.back];
  const css = [
    front && `color: ${front}`,
    back && `background: ${back}`,
    style.bold && "font-weight: bold",
    style.italic && "font-style: italic",
    style.underline && "text-decoration: underline",
    style.dim && "opacity: 0.6",
  ].filter(Boolean);
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return css.length === 0 ? escaped : `<span style="${css.join("; ")}">${escaped}</span>`;
}

function styleAfter(before, codes) {
  const style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) for (const name of Object.keys(style)) delete style[name];
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.reverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.reverse = false;
    else if (code === 39) delete style.front;
    else if (code === 49) delete style.back;
    else if (code === 38 || code === 48 || code === 58) {
      const [color, used] = extended(codes.slice(at + 1));
      if (code !== 58) style[code === 38 ? "front" : "back"] = color;
      at += used;
    } else if (code >= 30 && code <= 37) style.front = NAMED[code - 30];
    else if (code >= 40 && code <= 47) style.back = NAMED[code - 40];
    else if (code >= 90 && code <= 97) style.front = BRIGHT[code - 90];
    else if (code >= 100 && code <= 107) style.back = BRIGHT[code - 100];
  }
  return style;
}

/** The color that `2;r;g;b` or `5;number` means, and how many numbers that are. */
function extended([kind, ...rest]) {
  if (kind === 2) return [`rgb(${rest.slice(0, 3).join(", ")})`, 4];
  const [number] = rest;
  if (number < 16) return [[...NAMED, ...BRIGHT][number], 2];
  if (number >= 232) return [`rgb(${Array(3).fill(8 + (number - 232) * 10).join(", ")})`, 2];
  const level = (part) => (part === 0 ? 0 : 55 + part * 40);
  const cube = number - 16;
  return [`rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level).join(", ")})`, 2];
}
