/** Forms: questions with typed answers, all of which are given at once. Read, shown and checked by what is here. */

export type FormValue = string | number | boolean | string[];
export type FormValues = Readonly<Record<string, FormValue>>;

interface AnyField {
  key: string;
  title: string;
  /** More about it; empty for nothing. */
  detail: string;
  required: boolean;
}

export interface TextField extends AnyField {
  kind: "text";
  value: string;
  /** So many characters are allowed. */
  most: number | undefined;
}

export interface NumberField extends AnyField {
  kind: "number";
  value: number | undefined;
  whole: boolean;
  least: number | undefined;
  most: number | undefined;
}

export interface SwitchField extends AnyField {
  kind: "switch";
  value: boolean;
}

/** One of the options, or with `several` any number of them. */
export interface ChoiceField extends AnyField {
  kind: "choice";
  several: boolean;
  options: { value: string; name: string }[];
  chosen: string[];
}

export type FormField = TextField | NumberField | SwitchField | ChoiceField;

/** What is wrong with the value of a field. */
export type Misfit = "missing" | "long" | "number" | "range" | "unknown";

/** The first field whose value does not fit, and why; undefined if all do. What no field asks for does not fit either. */
export function misfit(fields: readonly FormField[], values: FormValues): { key: string; why: Misfit } | undefined {
  for (const field of fields) {
    const why = wrong(field, Object.hasOwn(values, field.key) ? values[field.key] : undefined);
    if (why !== undefined) return { key: field.key, why };
  }
  const foreign = Object.keys(values).find((key) => !fields.some((field) => field.key === key));
  return foreign === undefined ? undefined : { key: foreign, why: "unknown" };
}

function wrong(field: FormField, value: FormValue | undefined): Misfit | undefined {
  if (value === undefined) return field.required ? "missing" : undefined;
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") return "unknown";
      return field.most !== undefined && [...value].length > field.most ? "long" : undefined;
    case "number": {
      if (typeof value !== "number" || !Number.isFinite(value) || (field.whole && !Number.isInteger(value))) return "number";
      const { least = value, most = value } = field;
      return value < least || value > most ? "range" : undefined;
    }
    case "switch":
      return typeof value === "boolean" ? undefined : "unknown";
    case "choice": {
      const chosen = field.several ? value : [value];
      if (!Array.isArray(chosen)) return "unknown";
      return chosen.every((one) => field.options.some((option) => option.value === one)) ? undefined : "unknown";
    }
  }
}

/** The values in words, for a line of the conversation. */
export function inWords(fields: readonly FormField[], values: FormValues): string {
  const words = fields.map((field) => (field.key in values ? valueInWords(field, values[field.key]) : ""));
  return words.filter((text) => text !== "").join("; ");
}

function valueInWords(field: FormField, value: FormValue | undefined): string {
  if (field.kind === "switch") return value === true ? field.title : "";
  const names = field.kind === "choice" ? new Map(field.options.map((option) => [option.value, option.name])) : new Map<string, string>();
  return (Array.isArray(value) ? value : [String(value ?? "")]).map((one) => names.get(one) ?? one).join(", ");
}

// -- as ACP describes them ----------------------------------------------------------------------------------------------

/** The fields of a form by its schema; undefined if a required one is of a kind that is not known here. */
export function fieldsOf(schema: unknown): FormField[] | undefined {
  const { properties, required } = fields(schema);
  const names: unknown[] = Array.isArray(required) ? required : [];
  const all: FormField[] = [];
  for (const [key, property] of Object.entries(fields(properties))) {
    const field = fieldOf(key, fields(property), names.includes(key));
    if (field !== undefined) all.push(field);
    else if (names.includes(key)) return undefined;
  }
  return all;
}

type Schema = Readonly<Record<string, unknown>>;

function fieldOf(key: string, schema: Schema, required: boolean): FormField | undefined {
  const any = { key, title: text(schema.title) ?? key, detail: text(schema.description) ?? "", required };
  const { default: value } = schema;
  switch (schema.type) {
    case "string": {
      const options = optionsOf(schema.oneOf ?? schema.enum);
      if (options === undefined) return { kind: "text", ...any, value: text(value) ?? "", most: number(schema.maxLength) };
      return { kind: "choice", ...any, several: false, options, chosen: typeof value === "string" ? [value] : [] };
    }
    case "array": {
      const items = fields(schema.items);
      const options = optionsOf(items.anyOf ?? items.enum);
      const chosen = Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
      return options === undefined ? undefined : { kind: "choice", ...any, several: true, options, chosen };
    }
    case "number":
    case "integer":
      return { kind: "number", ...any, whole: schema.type === "integer", value: number(value), least: number(schema.minimum), most: number(schema.maximum) };
    case "boolean":
      return { kind: "switch", ...any, value: value === true };
    default:
      return undefined;
  }
}

/** Undefined if these are no options. */
function optionsOf(rows: unknown): ChoiceField["options"] | undefined {
  if (!Array.isArray(rows)) return undefined;
  return rows.flatMap((row: unknown) => {
    if (typeof row === "string") return [{ value: row, name: row }];
    const { const: value, title } = fields(row);
    return typeof value === "string" ? [{ value, name: text(title) ?? value }] : [];
  });
}

function fields(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
