/** What TeX's commands stand for. */

/** Signs and letters. */
export const SYMBOLS: ReadonlyMap<string, string> = new Map(
  [
    "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω",
    "Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω",
    "times × div ÷ pm ± mp ∓ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ setminus ∖ wedge ∧ land ∧ vee ∨ lor ∨ cap ∩ cup ∪ neg ¬ lnot ¬",
    "le ≤ leq ≤ ge ≥ geq ≥ ll ≪ gg ≫ ne ≠ neq ≠ approx ≈ equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ mid ∣ nmid ∤ parallel ∥ perp ⊥ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ models ⊨ vdash ⊢ prec ≺ succ ≻ lt < gt >",
    "to → rightarrow → Rightarrow ⇒ longrightarrow ⟶ leftarrow ← Leftarrow ⇐ gets ← leftrightarrow ↔ Leftrightarrow ⇔ iff ⟺ implies ⟹ mapsto ↦ uparrow ↑ downarrow ↓ rightharpoonup ⇀ hookrightarrow ↪ nearrow ↗ searrow ↘",
    "infty ∞ partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ emptyset ∅ varnothing ∅ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ angle ∠ triangle △ square □ therefore ∴ because ∵ top ⊤ bot ⊥ prime ′ dagger † degree °",
    "ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ colon : langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } vert | Vert ‖ lvert | rvert | backslash \\",
  ].flatMap((line) => pairs(line.split(" "))),
);

function pairs(words: string[]): [string, string][] {
  return words.flatMap((word, place): [string, string][] => (place % 2 === 0 ? [[word, words[place + 1] ?? ""]] : []));
}

export const SPACES: ReadonlyMap<string, string> = new Map([
  [",", "0.17em"], [":", "0.22em"], [";", "0.28em"], ["!", "-0.17em"], [" ", "0.25em"], ["quad", "1em"], ["qquad", "2em"],
]);

/** Large signs; where a formula stands alone, what belongs to them stands above and below. */
export const BIG: ReadonlyMap<string, boolean> = new Map([
  ["sum", true], ["prod", true], ["coprod", true], ["bigcup", true], ["bigcap", true], ["bigoplus", true], ["bigvee", true], ["bigwedge", true], ["int", false], ["iint", false], ["oint", false],
]);

/** Names that are set upright, in the same way. */
export const FUNCTIONS: ReadonlyMap<string, boolean> = new Map([
  ...["lim", "max", "min", "sup", "inf", "det", "gcd", "Pr", "limsup", "liminf", "argmax", "argmin"].map((name): [string, boolean] => [name, true]),
  ...["sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "lg", "exp", "dim", "ker", "deg", "arg", "hom"].map((name): [string, boolean] => [name, false]),
]);

/** A sign above, or below. */
export const ACCENTS: ReadonlyMap<string, [sign: string, below: boolean]> = new Map([
  ["hat", ["^", false]], ["widehat", ["^", false]], ["bar", ["¯", false]], ["overline", ["¯", false]], ["vec", ["→", false]], ["overrightarrow", ["→", false]],
  ["dot", ["˙", false]], ["ddot", ["¨", false]], ["tilde", ["~", false]], ["widetilde", ["~", false]], ["underline", ["_", true]], ["overbrace", ["⏞", false]], ["underbrace", ["⏟", true]],
]);

const DOUBLE = new Map([["C", "ℂ"], ["H", "ℍ"], ["N", "ℕ"], ["P", "ℙ"], ["Q", "ℚ"], ["R", "ℝ"], ["Z", "ℤ"]]);
const SCRIPT = new Map([["B", "ℬ"], ["E", "ℰ"], ["F", "ℱ"], ["H", "ℋ"], ["I", "ℐ"], ["L", "ℒ"], ["M", "ℳ"], ["R", "ℛ"]]);

/** The letters of an alphabet, from its capital and its small A on. */
function letters(capital: number, small: number | undefined, others: ReadonlyMap<string, string> = new Map()): (letter: string) => string {
  return (letter) => {
    const known = others.get(letter);
    if (known !== undefined) return known;
    const code = letter.charCodeAt(0);
    if (/^[A-Z]$/.test(letter)) return String.fromCodePoint(capital + code - 65);
    return /^[a-z]$/.test(letter) && small !== undefined ? String.fromCodePoint(small + code - 97) : letter;
  };
}

export const ALPHABETS: ReadonlyMap<string, (letter: string) => string> = new Map([
  ["mathbb", letters(0x1d538, undefined, DOUBLE)],
  ["mathcal", letters(0x1d49c, undefined, SCRIPT)],
  ["mathscr", letters(0x1d49c, undefined, SCRIPT)],
  ["mathbf", letters(0x1d400, 0x1d41a)],
  ["boldsymbol", letters(0x1d468, 0x1d482)],
  ["mathit", letters(0x1d434, 0x1d44e, new Map([["h", "ℎ"]]))],
  ["mathfrak", letters(0x1d504, 0x1d51e, new Map([["C", "ℭ"], ["H", "ℌ"], ["I", "ℑ"], ["R", "ℜ"], ["Z", "ℨ"]]))],
]);

export const DELIMITERS: ReadonlyMap<string, string> = new Map([
  ...["(", ")", "[", "]", "|", "/", "<", ">"].map((sign): [string, string] => [sign, sign]),
  [".", ""], ["\\{", "{"], ["\\}", "}"], ["\\|", "‖"], ["\\langle", "⟨"], ["\\rangle", "⟩"], ["\\lfloor", "⌊"], ["\\rfloor", "⌋"], ["\\lceil", "⌈"], ["\\rceil", "⌉"], ["\\lvert", "|"], ["\\rvert", "|"], ["\\vert", "|"],
]);

/** What stands around an environment, and on which side its columns stand. */
export const FENCED: ReadonlyMap<string, [open: string, close: string, align: string]> = new Map([
  ["matrix", ["", "", "center"]], ["pmatrix", ["(", ")", "center"]], ["bmatrix", ["[", "]", "center"]], ["Bmatrix", ["{", "}", "center"]], ["vmatrix", ["|", "|", "center"]], ["Vmatrix", ["‖", "‖", "center"]],
  ["array", ["", "", "center"]], ["cases", ["{", "", "left"]], ["aligned", ["", "", "right left"]], ["align", ["", "", "right left"]], ["align*", ["", "", "right left"]], ["split", ["", "", "right left"]], ["gathered", ["", "", "center"]],
]);
